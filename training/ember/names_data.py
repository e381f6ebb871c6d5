"""Names that stories use beside those of the table of names, and family names."""

WOMEN = frozenset(
    """Ada Adele Agnes Alma Amina Anita Anjali Ann Annabel Anneke Anneli Babette Bea Bertha Bess Bette Bodil Brenda Bria Carla Celeste Clara Clementine Cleo Cora Coralie Dawn Dina Dora Dorothy Edith Elaine Elin Ella Elsie Eva Farah
    Farida Fatma Fay Felicity Frieda Gail Ginny Gita Gladys Gloria Graciela Gretel Halima Hanne Henrietta Hester Hettie Hilda Hilde Ida Imani Inez Inge Irina Iris Jackie Jade Jasmine Julia June Katie Kayla Kezia Kyra Lea Leah Leela Leonie Lia
    Lidia Liesel Lina Lise Lone Lotta Lotte Lottie Lucille Malin Mara Maren Marge Marit Marta Maud Mette Mila Moira Nadia Nele Nima Nina Nora Noriko Nura Odile Ona Ondine Oona Opal Pam Pauline Pavlina Peggy Philippa Pia Priscilla Rita Rivka
    Rosalba Rosalie Rosie Sigrid Sonja Stella Sue Suzanne Tessa Thea Theodora Tiffany Tilda Tilly Trudy Ulla Vita Vreni Wanda Wanjiku Wilma Winnie Yara Yasmina Yoko Yuna Yusra Zuri Zuzana""".split()
)
MEN = frozenset(
    """Aksel Ali Amadou Amir Angelo Anton Anwar Arlo Arnie Aron Benji Bernard Bertie Bertrand Beto Bob Bruno Bryn Caleb Carlos Chuck Clive Cyril Dan Dave Davy Dele Desmond Dmitro Doug Earl Edwin Eli Elio Emilio Ernst Eustace Ezra Ferdinand
    Fiete Finn Floyd Genzo Gerald Gil Gregor Gregory Gus Hal Hank Henk Hubert Hugo Idris Ike Ilya Ingo Jad Jamal Jed Jerome Joel Jonah Jost Ken Kenta Khalil Kuba Kuno Kwesi Lalo Len Lenny Leon Leonard Lionel Lucien Mandla Marcus Milan Milo
    Mort Moses Mustafa Nadim Nasim Nino Noel Nolan Oskar Otis Paco Peder Pepe Percival Percy Pete Petros Phil Pierre Piers Piet Ramon Rashid Ravi Reto Rico Rob Ruben Salvatore Sami Samuel Sergei Soren Stan Tenzin Teo Theo Tito Tobias Torvald
    Trevor Ulf Wally Webster Wells Wes Wilfred Wim Yaroslav Zeke Lars-Erik Roy""".split()
)

TITLES = ("Mr.", "Mrs.", "Ms.", "Miss", "Dr.", "Captain", "Inspector", "Professor", "Detective", "Sergeant", "Officer", "Judge",
    "Mayor", "Coach", "Commander", "Lieutenant", "Director", "Conductor", "Nurse", "Master", "Señora", "Madame", "Monsieur",
    "Herr", "Frau")
FAMILY_NAMES = (
    """Abara Adler Almeida Amos Anders Bakker Barros Beck Bell Berg Bloom Boateng Brand Cardoso Castro Chen Cho Costa Dahl Dane Diaz Dorn Eklund Esposito Falk Farrell Ferrer Fischer Flores Frost Gallo Garber Grant Haas Hale Hansen Hara Hart
    Holm Hoshi Ibarra Ito Jansen Juma Kaplan Keller Kim Kline Koch Kovac Kruger Lang Lind Lopez Lund Malik Mandel Marsh Mbeki Mehta Meyer Moreau Mori Nakata Navarro Neri Novak Nunez Okoro Olsen Ortiz Osei Otto Pace Park Patel Petrov Pohl Quist
    Ramos Reed Rizzo Rojas Romano Rossi Saito Salas Sato Scholl Sharma Silva Simic Stone Suzuki Tamm Tanaka Toth Varga Vega Vogel Wang Weber West Winter Wolfe Yilmaz Young Zapata Ziegler""".split()
)
