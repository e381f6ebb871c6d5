"""Tools that know about the world: weather, places, travel and news."""

from ember.chats.tools_data import Tool

WORLD = (
    Tool(
        "get_weather|weather|current_weather|weather_now|fetch_weather",
        "Get the weather in a city|Tells the weather of a place|Current weather for a city",
        ("city|location|place|town: city", "unit: temperature_unit"),
        (
            "What is the weather in {city}?", "How is the weather in {city} today?",
            "What is the weather like in {city}?",
            "Tell me the weather in {city}.", "Is it sunny in {city}?", "How warm is it in {city}?",
            "How cold is it in {city} now?", "Weather in {city}?", "Do I need an umbrella in {city}?",
            "What is the weather in {city} in {unit}?", "How warm is it in {city}? Use {unit}.",
            "I want to know the weather in {city}.",
        ),
        "the weather in {city}",
        ("temperature|degrees|temp: degrees", "sky|weather|condition: sky"),
        (
            "It is {temperature} degrees and {sky} in {city}.", "In {city} it is {sky} and {temperature} degrees.",
            "The weather in {city} is {sky} with {temperature} degrees.",
            "Now it is {sky} in {city}, at {temperature} degrees.",
        ),
        (
            "What is the weather in {city} and in {second}?", "How is the weather in {city} and {second}?",
            "Tell me the weather in {city} and {second}.",
        ),
        "weather",
    ),
    Tool(
        "get_forecast|forecast|weather_on_day",
        "Get the weather for a day|Forecast for a city and day",
        ("city|place: city", "day|date: day"),
        (
            "How will the weather be in {city} on {day}?", "Will it rain in {city} on {day}?",
            "What is the forecast for {city} on {day}?",
            "Tell me the weather for {day} in {city}.", "Weather on {day} in {city}?",
        ),
        "the forecast for {city} on {day}",
        ("sky|forecast: sky", "degrees|high: degrees"),
        (
            "On {day} it will be {sky} in {city}, with {degrees} degrees.",
            "The forecast for {city} on {day} is {sky} and {degrees} degrees.",
        ),
        group="weather",
    ),
    Tool(
        "get_time|time_in_city|current_time|clock",
        "Get the time in a city|Tells what time it is",
        ("city|place|location: city",),
        (
            "What time is it in {city}?", "Tell me the time in {city}.", "How late is it in {city}?",
            "What is the time in {city} now?",
            "Can you check the time in {city}?", "Time in {city}?",
        ),
        "the time in {city}",
        ("time|clock|now: time",),
        ("It is {time} in {city}.", "The time in {city} is {time}.", "In {city} it is {time} now."),
        ("What time is it in {city} and in {second}?", "Tell me the time in {city} and {second}."),
    ),
    Tool(
        "get_population|population|count_people",
        "How many people live somewhere|Get the population of a country",
        ("country|name|land|place: country",),
        (
            "How many people live in {country}?", "What is the population of {country}?",
            "Tell me how many people {country} has.",
            "How big is the population of {country}?", "Population of {country}?",
        ),
        "the population of {country}",
        ("millions|population|people: millions",),
        (
            "About {millions} million people live in {country}.", "{country} has {millions} million people.",
            "The population of {country} is {millions} million.",
        ),
        (
            "How many people live in {country} and in {second}?",
            "What is the population of {country} and of {second}?",
        ),
    ),
    Tool(
        "get_capital|capital_of|find_capital",
        "Get the capital of a country|Which city is the capital",
        ("country|land|name: new_name",),
        (
            "What is the capital of {country}?", "Which city is the capital of {country}?",
            "Tell me the capital of {country}.",
            "Name the capital of {country}.", "Do you know the capital of {country}?",
        ),
        "the capital of {country}",
        ("capital|city: new_name",),
        ("The capital of {country} is {capital}.", "{capital} is the capital of {country}."),
        ("What are the capitals of {country} and {second}?",),
        "knowledge",
    ),
    Tool(
        "flight_status|check_flight|flight|get_flight",
        "Check if a flight is late|Get the state of a flight",
        ("flight|number|code|flight_number: flight",),
        (
            "Is flight {flight} on time?", "What is the status of flight {flight}?", "Check flight {flight}.",
            "How is flight {flight} doing?",
            "Is flight {flight} late?", "Tell me about flight {flight}.",
        ),
        "the status of flight {flight}",
        ("status|state: flight_state", "gate|exit: number"),
        (
            "Flight {flight} is {status}. The gate is {gate}.",
            "The status of {flight} is {status}, at gate {gate}.", "Flight {flight} at gate {gate} is {status}.",
        ),
        ("Check the flights {flight} and {second}.", "What is the status of {flight} and {second}?"),
    ),
    Tool(
        "get_news|news|latest_news|headlines",
        "Get the news of a country|Read the latest news",
        ("country|place|land|about: country",),
        (
            "What is the news from {country}?", "What is new in {country}?", "Tell me the news from {country}.",
            "Is there any news from {country}?",
            "Read me the latest news from {country}.",
        ),
        "the news from {country}",
        ("headline|title|news: title",),
        (
            'The news from {country} is: "{headline}".', 'In {country} the top news is "{headline}".',
            'The headline is "{headline}".',
        ),
    ),
    Tool(
        "get_stock_price|stock_price|share_price|stocks",
        "Get the price of a stock|What one share costs",
        ("company|name|stock|firm: company",),
        (
            "What is the stock price of {company}?", "How much is one share of {company}?",
            "Get me the price of {company} stock.",
            "What does a share of {company} cost?", "Tell me the stock price of {company}.",
            "How much is {company} stock today?",
            "Price of {company} stock?", "How is the {company} stock doing?", "What is {company} stock at?",
        ),
        "the stock price of {company}",
        ("price|value|dollars: amount",),
        (
            "One share of {company} costs {price} dollars.", "The stock price of {company} is {price} dollars.",
            "{company} is at {price} dollars.",
        ),
        ("What are the stock prices of {company} and {second}?", "How much are shares of {company} and {second}?"),
    ),
    Tool(
        "search_web|search|web_search|find_online",
        "Search the web|Look for pages on the web",
        ("query|q|text|search: topic",),
        (
            "Search for {query}.", "Search the web for {query}.", "Please look up {query} on the web.",
            "Look for {query} online.",
            "Find pages about {query}.", "Can you search for {query}?", 'Search for "{query}".',
        ),
        "to search for {query}",
        ("title|top|first: title", "hits|pages|count: big"),
        (
            'I found {hits} pages. The first is "{title}".', 'There are {hits} pages. At the top is "{title}".',
            'The search gave {hits} pages, and "{title}" is the first.',
        ),
    ),
)
