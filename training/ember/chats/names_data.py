"""First names of many origins, names for pets and names of cities, as people tell them to a chat model."""

NAMES = """
Aaron Abel Abigail Ada Adam Adele Aditi Adrian Agnes Ahmed Aiko Ailsa Aisha Akira Alan Albert Alda Alejandro Alex Alfie
Ali Alice Alma Alva Amara Amelia Amina Amir Amos Amy Ana Anders Andre Andrew Angela Anika Anil Anna Annika Anton Anya
April Arjun Arlo Arno Arthur Arun Asha Astrid Aurora Ava Axel Aya Basil Beatrix Bella Ben Benny Bert Beth Bianca Bill
Birgit Björn Bo Bob Boris Brian Bruno Callum Camila Carl Carla Carlos Carmen Caroline Cedric Chen Chidi Chloe Chris
Clara Claude Clio Colin Cora Cyrus Daisy Dana Daniel Dara David Deepa Delia Dennis Diana Diego Dina Dmitri Dora Doris
Dylan Eamon Ebba Edith Edgar Eduardo Efua Ela Elena Eli Elif Elise Ella Ellen Elsa Emil Emily Emma Enzo Eric Erin
Esme Esther Ethan Eva Eve Ezra Fabian Farah Fatima Felix Femi Fern Finn Fiona Flora Florian Frank Freda Freya Frida
Gabriel Gail Gemma George Gerda Gianni Gina Gisela Grace Greta Grigor Guido Gunnar Gus Hana Hank Hannah Hans Harold
Haruki Hassan Hazel Heidi Helen Helga Henrik Henry Hilda Hiro Hugo Ian Ibrahim Ida Igor Ike Ilse Imani Ina Ines Ingrid
Iris Irma Isaac Isabel Isla Ivan Ivy Jack Jacob Jaime Jake Jamal James Jan Jana Jane Jasmine Jason Javier Jean Jenny
Jens Jerome Jill Jing Joan Joe Johan John Jonas Jorge Jose Joy Juan Judith Julia Jun June Kai Kamal Karen Karim Karl
Kate Katya Keiko Ken Kenji Kevin Khalid Kim Kiran Kofi Kurt Kwame Kyle Lars Laura Lea Leah Lee Leila Lena Leo Leon
Levi Liam Lila Lily Lin Linda Ling Linus Lisa Liv Lola Lorenzo Louis Luca Lucy Luis Lukas Luna Lydia Mabel Magnus Mai
Malik Mara Marco Maria Marie Mario Mark Marta Martin Mary Matteo Maud Max May Maya Meera Mei Mia Michael Miguel Mika
Mila Mina Mira Miriam Mona Morgan Moses Musa Nadia Naomi Nasir Nell Niall Nick Nico Nils Nina Noah Noor Nora Odin Ola
Olaf Olga Oliver Olivia Omar Orla Oscar Otto Pablo Pam Paolo Paul Paula Pearl Pedro Penny Percy Peter Petra Philip
Pia Pierre Piotr Priya Quentin Quinn Rachel Rafael Rahul Raj Ralph Ramon Rania Raul Ravi Ray Rebecca Rhea Rita Robert
Robin Rohan Rolf Roman Ronan Rosa Rose Rosie Ruben Ruby Rufus Ruth Sadie Sally Salma Sam Samira Sandra Sanjay Sara
Saul Sean Selma Sergei Seth Shira Sigrid Silas Simon Sita Sofia Sonja Stefan Stella Sunil Susan Sven Sylvia Tadeo
Takumi Tamara Tanya Tara Tariq Tess Thea Theo Thomas Tilda Tim Tina Tobias Tom Tomoko Tove Uma Umar Ursula Uta Vera
Victor Vijay Viola Vivian Wanda Wei Wendy Will Wilma Xavier Yana Yara Yasmin Yosef Yuki Yusuf Zack Zara Zelda Zoe Zora
""".split()

PET_NAMES = """
Apple Bandit Bean Bella Berry Biscuit Blue Bolt Bounce Bramble Bubbles Buddy Button Candy Cheddar Chip Cinnamon Clover
Coco Cookie Cosmo Cotton Cricket Daisy Dash Dot Dusty Echo Fern Flash Fluff Freckles Fudge Ginger Hazel Honey Hopper
Jasper Jelly Juno Kiwi Lucky Luna Maple Marble Mint Misty Mittens Mocha Moon Muffin Nibbles Noodle Nugget Nutmeg
Olive Oreo Patch Peanut Pebble Pepper Pickle Pip Pixel Poppy Pudding Pumpkin Puzzle Rags Rex Ripple Rocket Rolo Rusty
Sandy Scout Shadow Skip Smoky Snowball Socks Sparky Spot Sprout Star Storm Sunny Taffy Tiger Toast Toffee Truffle
Velvet Waffles Whisker Willow Ziggy Zippy
""".split()

PETS = "dog cat rabbit parrot hamster pony goldfish turtle mouse duck goat hen lizard frog kitten puppy".split()

CITIES = """
Amsterdam Athens Bangkok Barcelona Berlin Bern Bogota Boston Bristol Brussels Budapest Cairo Chicago Cologne Copenhagen
Dakar Delhi Denver Dublin Florence Geneva Hamburg Hanoi Havana Helsinki Istanbul Kyoto Lagos Leeds Lima Lisbon London
Lyon Madrid Manila Milan Montreal Moscow Mumbai Munich Nairobi Naples Osaka Oslo Ottawa Paris Porto Prague Quito Rome
Santiago Seattle Seoul Seville Sydney Tokyo Toronto Tunis Turin Utrecht Venice Vienna Warsaw Zurich
""".split()

COLORS = "red blue green yellow orange purple pink brown black white gray gold silver violet turquoise crimson".split()
