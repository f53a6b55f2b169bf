import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.util.StringJoiner;

/** Reads properties as Java does: each line of the input is a text in JSON, each of the output its values or an error. */
class Properties {
    public static void main(String[] arguments) throws Exception {
        var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var output = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            output.println(answer(text(line)));
        }
    }

    private static String answer(String text) throws Exception {
        var properties = new java.util.Properties();
        try {
            properties.load(new StringReader(text));
        } catch (IllegalArgumentException error) {
            return "{\"error\":" + json(String.valueOf(error.getMessage())) + "}";
        }
        var values = new StringJoiner(",", "{\"values\":{", "}}");
        for (String name : properties.stringPropertyNames()) {
            values.add(json(name) + ":" + json(properties.getProperty(name)));
        }
        return values.toString();
    }

    private static String json(String text) {
        var out = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            out.append(c < ' ' || c == '"' || c == '\\' ? String.format("\\u%04x", (int) c) : c);
        }
        return out.append('"').toString();
    }

    private static String text(String json) {
        var out = new StringBuilder();
        for (int at = 1; at < json.length() - 1; at++) {
            char c = json.charAt(at);
            if (c == '\\') {
                c = json.charAt(++at);
                switch (c) {
                    case 'n' -> c = '\n';
                    case 'r' -> c = '\r';
                    case 't' -> c = '\t';
                    case 'b' -> c = '\b';
                    case 'f' -> c = '\f';
                    case 'u' -> {
                        c = (char) Integer.parseInt(json.substring(at + 1, at + 5), 16);
                        at += 4;
                    }
                    default -> { }
                }
            }
            out.append(c);
        }
        return out.toString();
    }
}
