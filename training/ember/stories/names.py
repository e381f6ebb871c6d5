"""First names of many origins, and the syllables that invented words are made of."""

GIRLS = """
Mia Anna Lily Emma Zoe Nora Clara Ruby Ella Lucy Grace Alice Rosa Maya Ivy Hazel Daisy Molly Sophie Julia Lena Greta
Heidi Frida Ingrid Astrid Elsa Liv Sigrid Maja Kaja Saga Tuva Aino Helmi Venla Katja Olga Nadia Vera Tanya Irina Mila
Zora Danica Jana Lenka Eva Zofia Kasia Hania Ilona Piroska Ioana Elena Daria Sorina Despina Eleni Thea Kalliopi Chiara
Giulia Bianca Lucia Carla Pilar Ines Marisol Paloma Luna Carmen Catalina Beatriz Yara Iara Camille Margot Colette Amelie
Odette Manon Fleur Saskia Femke Lotte Anouk Niamh Aoife Maeve Orla Fiona Isla Catrin Rhian Bronwen Fatima Leila Amina
Yasmin Noor Salma Zahra Samira Dalia Hana Farah Shirin Parisa Soraya Ayse Elif Defne Zeynep Tamar Nino Anahit Miriam Dina
Noa Shira Yael Priya Asha Meera Lata Kavya Anjali Devi Sita Nila Tara Uma Indira Chandra Mei Lan Xiu Ling Yumi Aiko Sakura
Haruka Keiko Hanako Emi Minji Sora Jiwoo Linh Mai Thuy Anong Malee Dewi Siti Putri Amihan Tala Leilani Moana Kalea Aroha
Mere Zuri Amara Ada Ngozi Chika Efua Abena Akua Makena Wanjiru Nia Imani Neema Thandi Nomsa Lerato Naledi Zanele Selam
Hiwot Winona Aiyana Nayeli Xochitl Quilla Penny Holly Poppy Tilly Flora Stella Wendy Betsy
""".split()

BOYS = """
Tom Ben Max Sam Leo Jack Finn Noah Oscar Hugo Felix Theo Henry George Charlie Toby Peter Simon Paul Otto Emil Jonas Lukas
Anton Karl Fritz Lars Nils Sven Olaf Bjorn Erik Axel Magnus Eino Onni Toivo Ivan Boris Misha Sasha Pavel Dmitri Milos Luka
Marko Vuk Jakub Tomas Ondrej Stefan Marek Pawel Janek Bela Istvan Andrei Mihai Radu Nikos Kostas Yannis Petros Marco Luca
Paolo Matteo Nico Pedro Diego Pablo Mateo Rafael Carlos Javier Tiago Joao Duarte Caio Louis Remy Gaston Pierre Luc Bastien
Pim Joost Daan Bram Liam Sean Declan Cormac Ewan Angus Callum Rhys Gareth Dylan Omar Ali Hassan Yusuf Karim Tariq Samir
Bilal Jamal Idris Rashid Farid Reza Dara Cyrus Kaveh Emre Kerem Mehmet Levan Giorgi Aram Tigran David Eli Asher Ezra Jonah
Arjun Ravi Rohan Kiran Vikram Anand Suresh Dev Hari Gopal Nikhil Sanjay Bao Wei Jun Ming Chen Kenji Hiro Taro Akira Haru
Daiki Ryo Minho Jinwoo Dong Minh Tuan Somchai Niran Budi Agus Bayu Datu Kai Keanu Makoa Tane Rangi Wiremu Kofi Kwame
Kwesi Emeka Obi Chidi Tunde Sekou Mamadou Jabari Juma Baraka Kamau Simba Thabo Sipho Themba Mandla Dawit Tesfa Abebe
Tohil Inti Amaru Chayton Nodin Robin Walter Arthur Alfie Rufus Jasper Milo Barnaby Wilbur
""".split()

#: Names that animals in fables have besides those of children.
ANIMAL_NAMES_SHE = """
Pip Dot Misty Honey Clover Willow Bluebell Nutmeg Pepper Snowy Maple Juniper Tansy Bramble Plum Sparkle Dewdrop Button
""".split()
ANIMAL_NAMES_HE = """
Bruno Chip Rusty Pebble Bumble Acorn Dusty Patch Rocky Boots Tuft Fergus Biscuit Thistle Basil Comet Fidget Scout
""".split()

#: Sounds of odd words.
CONSONANTS = "b c ch d f g h j k l m n nd ng nj nk p ph qu r rr s sh st t th tr v w x y z zh".split()
VOWELS = "a e i o u a e i o u aa ai ea ee ia io oo ou ui y".split()

#: First and later syllables, and ends, of invented words.
STARTS = "ba be bo bra da do dri fa fi flo ga gli go ka ki klo la li lo ma mi mo na no nu pa pi plo qua ra ri ro sa sil so ta ti tra va vi wa wi za zi zo".split()
MIDDLES = "ba bi da do fa ga go ka ki la li lu ma mi mo na ni no pa ra ri ro sa ta to va vi zi".split()
ENDS = "b bel by dle ff g ket l ll lo lin m mber n nder nk nny p r rin sk t tter v x zzle".split()
