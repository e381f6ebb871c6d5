"""The ways to ask for JSON with given keys."""

#: Requests for an answer with the keys `{keys}`. Those with `{form}` show the whole object instead.
REQUESTS = (
    "Answer in JSON with {keys}.",
    "Answer as JSON with {keys}.",
    "Reply in JSON with {keys}.",
    "Reply as JSON with {keys}.",
    "Give the answer as JSON with {keys}.",
    "Give me a JSON object with {keys}.",
    "Return a JSON object with {keys}.",
    "Return JSON with {keys}.",
    "Return only JSON with {keys}.",
    "Write this as JSON with {keys}.",
    "Put this into JSON with {keys}.",
    "Turn this into a JSON object with {keys}.",
    "Make a JSON object with {keys}.",
    "JSON with {keys}.",
    "JSON with {keys}, please.",
    "Please answer in JSON with {keys}.",
    "Respond with a JSON object that has {keys}.",
    "Respond only with JSON that has {keys}.",
    "Output JSON with {keys}.",
    "Extract {keys} as JSON.",
    "Get {keys} from this and write JSON.",
    "Use JSON with {keys} for your answer.",
    "I need a JSON object with {keys}.",
    "Can you write this as JSON with {keys}?",
    "Answer with JSON only, in this form: {form}",
    "Fill in this JSON: {form}",
    "Reply in this JSON form: {form}",
    "Use this JSON form: {form}",
)

#: How the keys are named in a request: for one key and for more.
ONE_KEY = ("the key {keys}", "the key {keys}", "one key, {keys}", 'the field {keys}', "only the key {keys}")
MORE_KEYS = (
    "the keys {keys}", "the keys {keys}", "the keys {keys}", "these keys: {keys}", "the fields {keys}", "{keys}",
    "{keys} as keys",
)

#: What is said when the text may leave something out.
NULL_NOTES = (
    "Use null if the text does not say it.", "Use null for what is not said.", "If something is missing, use null.",
    "Write null for unknown things.", "What is not known is null.",
)

#: Instructions as a system message, before the user's text.
SYSTEM_LEADS = (
    "You answer only in JSON.", "You read facts and write JSON.", "You are a helper that writes JSON.",
    "Be exact.",
)
