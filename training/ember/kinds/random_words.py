"""Words that no list contains: invented names, letters without order, and names of all origins.

What a prompt names must be copied letter by letter, also if nobody wrote it before.
"""

import re
from string import ascii_lowercase

from ..draw import Draw
from ..grammar import capitalized

_CONSONANTS = "b c d f g h j k l m n p q r s t v w x z".split()
_CLUSTERS = "bl br ch cl cr dr fl fr gl gr kn kr pl pr qu sc sh sk sl sm sn sp st str sw th tr tw vl wh wr zh ts dz gw mb nd ng nk nt ps".split()
_VOWELS = "a e i o u a e i o u aa ai au ay ea ee ei eo ia ie io oa oo ou oy ua ue ui y".split()
_ENDS = "b d f g k l m n p r s t x z ck ll ss tt nd ng nk nt rd rk rn rt st th sch tz mp lf ld zz".split()
#: First names and family names that are rare in other texts, to be copied letter by letter.
_RARE_NAMES = (
    "Abelard Achim Adaeze Adalet Adebayo Adelheid Adrastos Aelita Agata Agnieszka Aiko Ainhoa Aishwarya Aitana Akosua Aksinya "
    "Alasdair Alcina Aleksandra Alessio Alisher Almudena Aloysius Alvaro Amarachi Amaryllis Ambrose Anastasija Andromeda Aneurin Angharad "
    "Anneliese Anouk Antigone Aoife Apolonia Araminta Archibald Ariadne Arkady Arnaud Artemisia Asbjorn Astrid Atticus Aurelien Aylin Azadeh "
    "Balthazar Baptiste Barnaby Bartholomew Beatrix Benedetta Berenike Bhavani Birgitta Blanka Boaz Bohumil Bojana Branwen Bronislav Bronwyn "
    "Brunhilde Caoimhe Caspian Cassiopeia Cecylia Celestyna Chandrika Charikleia Chiamaka Chrysanthi Ciaran Clementina Clothilde Corentin Cosima "
    "Cressida Cuauhtemoc Dagmar Dagny Dalibor Damaris Danuta Dariusz Deirdre Delphine Demelza Dilnoza Dimitrios Domingos Dorothea Dragana Dushan "
    "Ebenezer Eberhard Edeltraud Efthymia Eilidh Ekaterina Eleftheria Eliska Emmeline Enrique Erzsebet Esperanza Ethelbert Eudora Euphemia "
    "Evangelos Ezekiel Fairuz Fearghal Feodora Fernanda Fionnuala Florentyna Franziska Frederikke Friedrich Gabija Gennaro Georgios Gervase "
    "Ghislaine Gioconda Giuseppina Gobnait Godfrey Gottfried Gudrun Guinevere Gulnara Gunnhild Gwendolen Gyorgy Habiba Hadewych Haralambos Hedvig "
    "Heledd Henrike Hildegard Hiroshi Hjalmar Hortense Hyacinth Ifeanyi Ignatius Ileana Immaculata Ingeborg Inigo Iphigenia Isambard Ishaan "
    "Isolde Itziar Iwona Jacinta Jadwiga Jaroslav Jeronimo Jiaxuan Joaquin Jolanta Josefine Juhani Kamalei Katarzyna Kazimierz Keziah Khadija "
    "Kjersti Klementyna Koenraad Krzysztof Kwabena Ladislav Laoise Leandros Leocadia Leopoldine Lioba Ljubica Lorcan Ludovica Lysander Maarten "
    "Macarena Maelle Magdalena Mahalia Makana Malgorzata Manjula Margriet Marzena Mathilde Mehmet Melchior Mercedes Meredydd Mieczyslaw Mirabelle "
    "Mitsuko Muirne Myfanwy Nadezhda Nagisa Natsumi Nefeli Nergui Niamh Nicodemus Nikolaos Nkechi Noor Nubia Obadiah Octavian Oighrig Oksana "
    "Olamide Olufemi Ondrej Ophelia Orsolya Ottilie Oyelaran Padraig Panagiotis Parvaneh Penelope Peregrine Persephone Philomena Pilar Porfirio "
    "Praxedes Przemek Quentin Quirin Radomir Rahel Rangi Raphaela Reinhild Rhiannon Rhys Rigoberto Rosamund Rowena Ruaridh Rukmini Saoirse Sashka "
    "Seraphina Shivani Siegfried Sigurd Sinikka Siobhan Sixtine Slavomir Solveig Sorcha Stanislava Swanhild Szymon Tadhg Tadeusz Tamsin Tancredi "
    "Tatjana Teresita Thaddeus Theodosia Thorbjorn Tiernan Tomasz Torquil Tristram Tsegaye Tuulikki Uchenna Ulrike Urszula Vaclav Valdemar "
    "Vasilisa Venetia Veronique Violeta Vladislav Waldemar Wenceslas Wilhelmina Wojciech Xanthe Xiadani Ximena Xochitl Yevgenia Ysabeau Yseult "
    "Yuliana Zacharias Zbigniew Zdenka Zenobia Zephyrine Zlatko Zsofia Zuleika "
).split()
_FAMILY_NAMES = (
    "Abernathy Achterberg Adeyemi Akhtar Alvarenga Andersson Antonopoulos Arbuckle Balakrishnan Baranowski Beauchamp Bergstrom Blackwood "
    "Bondarenko Braithwaite Buchholz Castellanos Chakraborty Chaudhry Christodoulou Colquhoun Czerwinski Dahlgren Delacroix Dimitrov Dobrowolski "
    "Eichelberger Eriksen Espinoza Featherstone Fernandes Fitzgerald Fujimoto Galbraith Gallagher Giannopoulos Gonzalez Grabowski Gunnarsson "
    "Gutierrez Haraldsen Hashimoto Hathaway Hernandez Higginbotham Hinterberger Hoffmann Iwasaki Jankowski Jaramillo Jorgensen Kalogeropoulos "
    "Kawaguchi Kirchner Klimek Kowalczyk Krishnamurthy Kuznetsov Lachlan Laurentis Lindqvist Llewellyn Lundgren MacAllister Mahlangu Malinowski "
    "Marchetti Nakamura Ndiaye Nguyen Niemczyk Nwosu Obermeier Okonkwo Olafsdottir Onwuka Papadakis Pellegrini Petrosyan Popescu Przybylski "
    "Quigley Quintero Radhakrishnan Ramaswamy Rasmussen Rautenbach Rosenthal Rzepka Saarinen Sandoval Schaefer Siddiqui Sokolova Stavropoulos "
    "Steinhauer Szczepanski Takahashi Thistlethwaite Thornbury Tsvetkova Uchiyama Urquhart Vandenberg Vasquez Villanueva Vlahovic Wainwright "
    "Weatherby Wickramasinghe Winterbottom Wojcik Worthington Yamaguchi Yilmaz Zamora Zielinski Zwicker "
).split()

#: What no word without sense may contain.
_RUDE = re.compile(r"cunt|shit|fuck|dick|cock|slut|tits|ass|rape|whore|piss|nig|nazi|fag|cum|porn|sex|poo|kkk|hell|damn|turd|fart|jew|gay", re.IGNORECASE)


def invented(draw: Draw) -> str:
    """Returns a word that does not exist and can be spoken, of one to four syllables, in lower case."""
    syllables = [_syllable(draw) for _ in range(draw.rng.choices((1, 2, 3, 4), (1, 5, 4, 1))[0])]
    word = "".join(syllables) + (draw.choice(_ENDS) if draw.chance(0.4) else "")
    return invented(draw) if _RUDE.search(word) else word


def _syllable(draw: Draw) -> str:
    start = draw.choice(_CLUSTERS) if draw.chance(0.3) else draw.choice(_CONSONANTS)
    return start + draw.choice(_VOWELS) + (draw.choice(_ENDS) if draw.chance(0.15) else "")


def random_letters(draw: Draw, low: int = 3, high: int = 9) -> str:
    """Returns lower-case letters without order, some of them doubled."""
    letters = "".join(draw.choice(ascii_lowercase) for _ in range(draw.number(low, high)))
    at = draw.number(0, len(letters) - 1)
    letters = letters[:at] + letters[at] + letters[at:] if draw.chance(0.2) else letters
    return random_letters(draw, low, high) if _RUDE.search(letters) else letters


def random_code(draw: Draw) -> str:
    """Returns letters and digits without order, such as a code or a file name."""
    signs = draw.choice((ascii_lowercase.upper() + "0123456789", ascii_lowercase + "0123456789", ascii_lowercase + "-_", "0123456789"))
    code = "".join(draw.choice(signs) for _ in range(draw.number(3, 9))).strip("-_") or "x7"
    return random_code(draw) if _RUDE.search(code) else code


def any_name(draw: Draw) -> str:
    """Returns a name of a person: of the table of names, a rare one, or an invented one."""
    form = draw.rng.random()
    if form < 0.15:
        return capitalized(invented(draw))
    return draw.choice(_RARE_NAMES) if form < 0.4 else draw.word("name")


def full_name(draw: Draw) -> str:
    """Returns a first name and a family name, often rare ones."""
    return f"{any_name(draw)} {draw.choice(_FAMILY_NAMES) if draw.chance(0.8) else capitalized(invented(draw))}"


def rare_word(draw: Draw) -> str:
    """Returns one word to copy or to take apart: of any kind, of a name, invented, or letters without order."""
    form = draw.rng.random()
    if form < 0.22:
        return invented(draw)
    if form < 0.4:
        return random_letters(draw)
    if form < 0.55:
        return any_name(draw)
    while not (word := draw.word(draw.choice(("any", "word", "animal", "object", "food", "city", "job")))).isalpha():
        pass
    return word
