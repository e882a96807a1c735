"""Judges exported definitions and result messages by the providers' own Python packages, offline.

    python check.py DIR

DIR is what `cargo test exports` writes: for each format `FORMAT.tools.json` and
`FORMAT.strict.tools.json` (what `belljar export` prints), and `FORMAT.messages.json` (a model's
message and the library's results for it). Exits with 1 where a shape is wrong, where a file is
missing, or where a sample that was spoiled on purpose passes: a check that can't fail is no check.
"""

import copy
import json
import pathlib
import sys
from collections.abc import Callable
from typing import Any, Union

import anthropic.types as at
import openai.types.chat as oc
import openai.types.responses as orp
from anthropic.lib._parse._transform import transform_schema
from anthropic.types.tool_result_block_param import Content as AnthropicContent
from google.genai import types as gt
from jsonschema import Draft202012Validator
from openai.lib._pydantic import _ensure_strict_json_schema
from openai.types.responses.response_input_item_param import FunctionCallOutput
from openai.types.shared_params import FunctionDefinition
from pydantic import TypeAdapter, ValidationError

FORMATS = ("openai-chat", "openai-responses", "anthropic", "gemini")


class Wrong(Exception):
    """What is wrong with a shape, in one sentence."""


def closed(typed: Any, *inner: Any) -> TypeAdapter:
    """A checker of a TypedDict, and those in it, that refuses keys which the provider doesn't know."""
    for one in (typed, *inner):
        one.__pydantic_config__ = {"extra": "forbid"}
    return TypeAdapter(typed)


CHAT_TOOL = closed(oc.ChatCompletionFunctionToolParam, FunctionDefinition)
CHAT_CALL = TypeAdapter(oc.ChatCompletionMessage)
CHAT_RESULT = closed(oc.ChatCompletionToolMessageParam)
RESPONSES_TOOL = closed(orp.FunctionToolParam)
RESPONSES_CALL = TypeAdapter(orp.ResponseFunctionToolCall)
RESPONSES_RESULT = closed(FunctionCallOutput)
ANTHROPIC_TOOL = closed(at.ToolParam)
ANTHROPIC_CALL = TypeAdapter(at.ToolUseBlock)
ANTHROPIC_MESSAGE = TypeAdapter(at.MessageParam)
ANTHROPIC_RESULT = closed(at.ToolResultBlockParam)
ANTHROPIC_CONTENT = TypeAdapter(AnthropicContent)


def need(holds: bool, what: str) -> None:
    if not holds:
        raise Wrong(what)


def every_schema(schema: Any):
    """The schema and those inside it, where keywords of the exports hold any."""
    if not isinstance(schema, dict):
        return
    yield schema
    for key in ("properties", "$defs", "definitions"):
        for inner in schema.get(key, {}).values():
            yield from every_schema(inner)
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for inner in schema.get(key, []):
            yield from every_schema(inner)
    yield from every_schema(schema.get("items"))


def untyped(schema: Any) -> Any:
    """A copy without the `type` beside an enum or a constant, which Anthropic's own drops."""
    schema = copy.deepcopy(schema)
    for inner in every_schema(schema):
        if "enum" in inner or "const" in inner:
            inner.pop("type", None)
    return schema


def check_schema(schema: Any) -> None:
    need(isinstance(schema, dict) and schema.get("type") == "object", "the root is no object")
    Draft202012Validator.check_schema(schema)


def check_openai_strict(schema: Any) -> None:
    """OpenAI's own transformer leaves a strict schema as it is."""
    made = _ensure_strict_json_schema(copy.deepcopy(schema), path=(), root=copy.deepcopy(schema))
    need(made == schema, "OpenAI's strict form differs")
    for inner in every_schema(schema):
        if inner.get("type") == "object":
            need(inner.get("additionalProperties") is False, "an object is open")
        forbidden = {"oneOf", "allOf", "not", "if", "default", "minLength", "maxLength"} & set(inner)
        need(not forbidden, f"strict holds {sorted(forbidden)}")


def check_anthropic_strict(schema: Any) -> None:
    """Anthropic's own transformer finds nothing more to move into descriptions."""
    need(transform_schema(copy.deepcopy(schema)) == untyped(schema), "Anthropic's strict form differs")


def check_chat_tools(tools: Any, strict: bool) -> None:
    need(isinstance(tools, list) and tools, "no tools")
    for tool in tools:
        CHAT_TOOL.validate_python(tool, strict=True)
        check_schema(tool["function"]["parameters"])
        if tool["function"].get("strict"):
            check_openai_strict(tool["function"]["parameters"])
    need(any(tool["function"].get("strict") for tool in tools) == strict, "strict isn't as asked")


def check_responses_tools(tools: Any, strict: bool) -> None:
    need(isinstance(tools, list) and tools, "no tools")
    for tool in tools:
        RESPONSES_TOOL.validate_python(tool, strict=True)
        check_schema(tool["parameters"])
        if tool["strict"]:
            check_openai_strict(tool["parameters"])
    need(any(tool["strict"] for tool in tools) == strict, "strict isn't as asked")


def check_anthropic_tools(tools: Any, strict: bool) -> None:
    need(isinstance(tools, list) and tools, "no tools")
    for tool in tools:
        ANTHROPIC_TOOL.validate_python(tool, strict=True)
        check_schema(tool["input_schema"])
        if tool.get("strict"):
            check_anthropic_strict(tool["input_schema"])
    need(any(tool.get("strict") for tool in tools) == strict, "strict isn't as asked")


def check_gemini_tools(tools: Any, _strict: bool) -> None:
    need(isinstance(tools, list) and len(tools) == 1, "not one tool")
    tool = gt.Tool.model_validate(tools[0])
    need(bool(tool.function_declarations), "no declarations")
    for declaration in tool.function_declarations:
        need(bool(declaration.name and declaration.description), "no name or description")
        check_schema(declaration.parameters_json_schema)
        # `JSONSchema` is the package's own list of the keywords it knows.
        gt.JSONSchema.model_validate(declaration.parameters_json_schema)
        for inner in every_schema(declaration.parameters_json_schema):
            need(not {"$schema", "const", "oneOf"} & set(inner), "a keyword that Gemini doesn't list")


def answered(asked: list, given: list) -> None:
    need(bool(asked) and asked == given, f"asked {asked}, answered {given}")


def check_chat_messages(message: Any, results: Any) -> None:
    asked = [call.id for call in CHAT_CALL.validate_python(message).tool_calls]
    for result in results:
        CHAT_RESULT.validate_python(result, strict=True)
        # The package's own type takes any iterable beside a text, and looks into none.
        need(isinstance(result["content"], str), "content that is no text")
    answered(asked, [result["tool_call_id"] for result in results])


def check_responses_messages(message: Any, results: Any) -> None:
    asked = [RESPONSES_CALL.validate_python(item).call_id for item in message]
    for result in results:
        RESPONSES_RESULT.validate_python(result, strict=True)
    answered(asked, [result["call_id"] for result in results])


def check_anthropic_messages(message: Any, results: Any) -> None:
    asked = [ANTHROPIC_CALL.validate_python(block).id for block in message["content"]]
    need(len(results) == 1 and results[0]["role"] == "user", "not one user message")
    ANTHROPIC_MESSAGE.validate_python(results[0])
    for block in results[0]["content"]:
        ANTHROPIC_RESULT.validate_python(block)
        content = block.get("content", "")
        for part in [] if isinstance(content, str) else content:
            ANTHROPIC_CONTENT.validate_python(part)
        need(not block.get("is_error") or isinstance(content, str), "an error that isn't text")
    answered(asked, [block["tool_use_id"] for block in results[0]["content"]])


def check_gemini_messages(message: Any, results: Any) -> None:
    calls = [part.function_call for part in gt.Content.model_validate(message).parts]
    need(len(results) == 1, "not one content")
    parts = gt.Content.model_validate(results[0]).parts
    need(all(part.function_response for part in parts), "a part that is no response")
    responses = [part.function_response for part in parts]
    need(all(len(it.response) == 1 for it in responses), "not one of `output` and `error`")
    need(all(set(it.response) <= {"output", "error"} for it in responses), "an unknown key")
    answered([(it.id, it.name) for it in calls], [(it.id, it.name) for it in responses])


TOOLS: dict[str, Callable[[Any, bool], None]] = {
    "openai-chat": check_chat_tools,
    "openai-responses": check_responses_tools,
    "anthropic": check_anthropic_tools,
    "gemini": check_gemini_tools,
}
MESSAGES: dict[str, Callable[[Any, Any], None]] = {
    "openai-chat": check_chat_messages,
    "openai-responses": check_responses_messages,
    "anthropic": check_anthropic_messages,
    "gemini": check_gemini_messages,
}

# Ways to spoil a sample: a path into it, and what stands there then (`...`: nothing).
Spoiled = tuple[tuple[Union[str, int], ...], Any]
SPOILED_TOOLS: dict[str, list[Spoiled]] = {
    "openai-chat": [
        ((0, "type"), "tool"),
        ((0, "function", "name"), ...),
        ((0, "function", "parameters"), []),
        ((0, "function", "parameters", "type"), "array"),
        ((0, "function", "parameters", "properties"), 5),
        ((0, "function", "input_schema"), {}),
        ((0, "name"), "x"),
    ],
    "openai-responses": [
        ((0, "strict"), ...),
        ((0, "parameters"), ...),
        ((0, "function"), {}),
        ((0, "parameters", "required"), "all"),
    ],
    "anthropic": [
        ((0, "name"), ...),
        ((0, "input_schema"), ...),
        ((0, "input_schema", "type"), ...),
        ((0, "parameters"), {}),
        ((0, "input_schema", "properties"), []),
    ],
    "gemini": [
        ((0, "functionDeclarations", 0, "name"), ...),
        ((0, "functionDeclarations", 0, "input_schema"), {}),
        ((0, "functionDeclarations", 0, "parametersJsonSchema", "$schema"), "x"),
        ((0, "functionDeclarations", 0, "parametersJsonSchema", "type"), "text"),
        ((0, "functionDeclaration"), []),
    ],
}
SPOILED_STRICT: dict[str, list[Spoiled]] = {
    "openai-chat": [((0, "function", "parameters", "required"), [])],
    "openai-responses": [((0, "parameters", "additionalProperties"), True)],
    "anthropic": [((0, "input_schema", "minProperties"), 1)],
    "gemini": [],
}
SPOILED_RESULTS: dict[str, list[Spoiled]] = {
    "openai-chat": [
        ((0, "role"), "user"),
        ((0, "tool_call_id"), "other"),
        ((0, "content"), {}),
        ((0, "is_error"), True),
    ],
    "openai-responses": [
        ((0, "type"), "function_call"),
        ((0, "call_id"), "other"),
        ((0, "output"), 5),
        ((0, "tool_call_id"), "x"),
    ],
    "anthropic": [
        ((0, "role"), "tool"),
        ((0, "content", 0, "tool_use_id"), ...),
        ((0, "content", 0, "tool_use_id"), "other"),
        ((0, "content", 0, "type"), "tool_use"),
        ((0, "content", 0, "content"), [{"type": "audio"}]),
        ((0, "content", 0, "output"), "x"),
    ],
    "gemini": [
        ((0, "parts", 0, "functionResponse", "name"), "other"),
        ((0, "parts", 0, "functionResponse", "response"), "text"),
        ((0, "parts", 0, "functionResponse", "response", "content"), "both"),
        ((0, "parts", 0, "function_result"), {}),
    ],
}


def spoil(sample: Any, spoiled: Spoiled) -> Any:
    (*path, last), value = spoiled
    sample = copy.deepcopy(sample)
    at_last = sample
    for step in path:
        at_last = at_last[step]
    if value is ...:
        del at_last[last]
    else:
        at_last[last] = value
    return sample


def passes(check: Callable[[], None]) -> str:
    """Empty where the check passes, else why not."""
    try:
        check()
    except (Wrong, ValidationError, ValueError, TypeError, KeyError, AssertionError) as why:
        return f"{type(why).__name__}: {why}"
    except Exception as why:  # jsonschema's own errors share no narrower parent
        return f"{type(why).__name__}: {str(why)[:200]}"
    return ""


def judge(name: str, check: Callable[[Any], None], sample: Any, spoiled: list[Spoiled]) -> int:
    failures = 0
    why = passes(lambda: check(sample))
    if why:
        print(f"FAIL {name}: {why}")
        failures += 1
    for one in spoiled:
        if not passes(lambda: check(spoil(sample, one))):
            print(f"FAIL {name}: spoiled at {one[0]} it still passes")
            failures += 1
    if not failures:
        print(f"ok   {name}, and {len(spoiled)} spoiled ones are refused")
    return failures


def main(folder: pathlib.Path) -> int:
    failures = 0
    for form in FORMATS:
        for strict, middle in ((False, ""), (True, ".strict")):
            name = f"{form}{middle}.tools.json"
            tools = json.loads((folder / name).read_text())
            spoiled = SPOILED_TOOLS[form] + (SPOILED_STRICT[form] if strict else [])
            failures += judge(name, lambda it: TOOLS[form](it, strict), tools, spoiled)
        name = f"{form}.messages.json"
        both = json.loads((folder / name).read_text())
        check = lambda it: MESSAGES[form](both["message"], it)
        failures += judge(name, check, both["results"], SPOILED_RESULTS[form])
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(pathlib.Path(sys.argv[1])))
