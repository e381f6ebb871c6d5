"""Tool calls in the formats of chat templates."""

import json
import re


def hermes(name, arguments):
    call = json.dumps({"name": name, "arguments": arguments})
    return f"<tool_call>\n{call}\n</tool_call>"


def elements(name, arguments):
    parameters = "".join(
        f"<parameter={key}>\n{value if isinstance(value, str) else json.dumps(value)}\n</parameter>\n"
        for key, value in arguments.items()
    )
    return f"<tool_call>\n<function={name}>\n{parameters}</function>\n</tool_call>"


def llama(name, arguments):
    return json.dumps({"name": name, "parameters": arguments})


def mistral(name, arguments):
    return "[TOOL_CALLS]" + json.dumps([{"name": name, "arguments": arguments}])


def mistral_with_arguments(name, arguments):
    return f"[TOOL_CALLS]{name}[ARGS]{json.dumps(arguments)}"


def harmony(name, arguments):
    header = f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>"
    return f"{header}{json.dumps(arguments)}<|call|>"


# The first string that occurs in a template determines its format.
FORMATS = {
    "<|channel|>": harmony,
    "[ARGS]": mistral_with_arguments,
    "[TOOL_CALLS]": mistral,
    "<function=": elements,
    "<tool_call>": hermes,
    "": llama,
}


def call_format(template):
    """Returns the functions that format a call (name, arguments) and a final text for a template."""
    call = next(form for marker, form in FORMATS.items() if marker in template)
    text = "<|channel|>final<|message|>{}".format if call is harmony else str
    # Prompts that end in an open reasoning section are continued by closing it.
    if not re.search(r"add_generation_prompt.*<think>\\n'", template, re.DOTALL):
        return call, text
    return (lambda *it: f"A plan.\n</think>\n\n{call(*it)}"), (lambda it: f"A plan.\n</think>\n\n{text(it)}")
