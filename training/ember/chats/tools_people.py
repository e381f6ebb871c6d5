"""Tools for people and shops: messages, calls, dates and things to buy."""

from ember.chats.tools_data import Tool

PEOPLE = (
    Tool(
        "add_reminder|set_reminder|remind|remind_me",
        "Remind the user of a task|Add a reminder",
        ("task|text|what: task", "time|at|when: time"),
        (
            "Remind me to {task} at {time}.", "At {time}, remind me to {task}.",
            "Please remind me to {task} at {time}.",
            "I must not forget to {task} at {time}. Remind me.", "Set a reminder to {task} at {time}.",
        ),
        "a reminder to {task} at {time}",
        ("status|state|saved: ok",),
        (
            "I will remind you to {task} at {time}.", "The reminder to {task} is set for {time}.",
            "At {time} I will remind you to {task}.",
        ),
    ),
    Tool(
        "send_message|message|send_text|write_to",
        "Send a message to a person|Send a short text",
        ("to|name|person|receiver: person", "text|message|content: message"),
        (
            'Send a message to {to}: "{text}"', "Write to {to}: {text}", 'Tell {to}: "{text}"',
            'Send "{text}" to {to}.',
            "Please send {to} this message: {text}", "Text {to}: {text}", 'Write "{text}" to {to}.',
        ),
        "to send {to} a message",
        ("status|state|sent: ok",),
        ("I sent your message to {to}.", "The message to {to} is sent.", "Done. {to} has your message now."),
    ),
    Tool(
        "call_contact|phone_call|call|make_call",
        "Call a person|Start a phone call",
        ("name|person|contact|to: person",),
        (
            "Call {name}.", "Please call {name}.", "Can you call {name} for me?",
            "I want to talk to {name} on the phone.",
            "Phone {name}, please.", "Start a call with {name}.",
        ),
        "to call {name}",
        ("status|state|ringing: ok",),
        ("I am calling {name}.", "Calling {name} now.", "The call to {name} has started."),
        ("Call {name} and {second}.", "Please call {name} and then {second}."),
    ),
    Tool(
        "book_table|reserve_table|table",
        "Book a table for dinner|Reserve a table",
        ("people|guests|seats: small", "time|at|hour: time", "day|date: day"),
        (
            "Book a table for {people} people at {time}.", "I need a table for {people} at {time}.",
            "Reserve a table for {people} at {time} on {day}.",
            "We are {people} people and want to eat at {time}. Book a table.",
            "Please book a table for {people} at {time} on {day}.",
        ),
        "a table for {people} at {time}",
        ("table|number: number",),
        (
            "You have table {table} for {people} people at {time}.",
            "I booked table {table} for {people} at {time}.",
            "Table {table} is yours at {time}, for {people} people.",
        ),
    ),
    Tool(
        "buy_item|buy|order|shop",
        "Buy things in the shop|Order an item",
        ("item|thing|product|name: plural", "count|number|amount|quantity: count"),
        (
            "Buy {count} {item}.", "Please buy {count} {item} for me.", "I need {count} {item}. Please buy them.",
            "Order {count} {item}.",
            "Can you get me {count} {item} from the shop?", "I want to buy {count} {item}.",
        ),
        "to buy {count} {item}",
        ("price|total|cost: price",),
        (
            "I bought {count} {item} for {price} dollars.",
            "You have {count} {item} now. The price was {price} dollars.",
            "Done. The {count} {item} cost {price} dollars.",
        ),
    ),
    Tool(
        "get_price|price|item_price|price_of",
        "Get the price of a thing|What a thing costs",
        ("item|thing|product|name: thing", "color: color"),
        (
            "How much is a {item}?", "What does a {item} cost?", "What is the price of a {color} {item}?",
            "Tell me the price of a {item}.",
            "How much do I pay for a {color} {item}?", "Is a {item} expensive?",
        ),
        "the price of a {item}",
        ("price|cost|dollars: price",),
        (
            "A {item} costs {price} dollars.", "The price of a {item} is {price} dollars.",
            "You pay {price} dollars for a {item}.",
        ),
        ("How much is a {item}, and how much is a {second}?",),
    ),
)
