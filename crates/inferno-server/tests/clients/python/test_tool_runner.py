"""The tool runner of Anthropic's client, against a server with scripted answers: a call of read_file, then "Done."."""

import os

import anthropic
import pytest


@pytest.mark.parametrize("stream", [False, True])
def test_tool_runner_completes_a_tool_loop(stream):
    paths = []

    @anthropic.beta_tool
    def read_file(path: str) -> str:
        """Reads a file.

        Args:
            path: Path of the file
        """
        paths.append(path)
        return "Seven lines."

    client = anthropic.Anthropic(base_url=os.environ["INFERNO_SCRIPTED_URL"], api_key="any", max_retries=0)
    runner = client.beta.messages.tool_runner(
        model="any", max_tokens=200, tools=[read_file], stream=stream,
        messages=[{"role": "user", "content": "What does notes.txt contain?"}],
    )
    assert runner.until_done().content[0].text == "Done."
    assert paths == ["notes.txt"]
