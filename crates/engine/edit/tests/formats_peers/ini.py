# Reads INI as Python does: each line of the input is a text in JSON, each of the output its values or an error. With the argument
# "inline" comments may stand behind values.
import configparser
import json
import sys

inline = ("#", ";") if sys.argv[1:] == ["inline"] else None
for line in sys.stdin:
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True, inline_comment_prefixes=inline)
    parser.optionxform = str
    try:
        parser.read_string(json.loads(line))
        values = {f"{name}.{key}": value for name in parser.sections() for key, value in parser.items(name)}
        print(json.dumps({"values": values}), flush=True)
    except Exception as error:  # It fails on some texts in other ways than it says.
        print(json.dumps({"error": str(error)}), flush=True)
