import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** Runs statements through pgjdbc; the argument is the server's URL. The line protocol is that of common.py. */
public final class RunJdbc {
  public static void main(String[] argv) throws Exception {
    java.net.URI url = new java.net.URI(argv[0]);
    String jdbc = "jdbc:postgresql://" + url.getHost() + ":" + url.getPort() + url.getPath();
    String[] who = url.getUserInfo().split(":", 2);
    PrintStream out = new PrintStream(System.out, true, "UTF-8");
    try (Connection c = DriverManager.getConnection(jdbc, who[0], who.length > 1 ? who[1] : "")) {
      BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        out.println(run(c, new Json(line)));
      }
    }
  }

  static String run(Connection c, Json request) {
    String sql = request.args.isEmpty() ? request.sql : request.sql.replaceAll("\\$[0-9]+", "?");
    try (PreparedStatement s = c.prepareStatement(sql)) {
      for (int i = 0; i < request.args.size(); i++) {
        s.setObject(i + 1, request.args.get(i), java.sql.Types.OTHER);
      }
      if (!s.execute()) {
        boolean counts = sql.matches("(?is)\\s*(insert|update|delete).*");
        return "{\"count\": " + (counts ? s.getUpdateCount() : -1) + "}";
      }
      return rows(s.getResultSet());
    } catch (SQLException e) {
      String message = e instanceof org.postgresql.util.PSQLException p && p.getServerErrorMessage() != null
          ? p.getServerErrorMessage().getMessage() : e.getMessage();
      return "{\"code\": " + Json.quote(e.getSQLState()) + ", \"message\": " + Json.quote(message) + "}";
    }
  }

  static String rows(ResultSet r) throws SQLException {
    ResultSetMetaData m = r.getMetaData();
    StringBuilder b = new StringBuilder("{\"columns\": [");
    for (int i = 1; i <= m.getColumnCount(); i++) {
      b.append(i > 1 ? "," : "").append(Json.quote(m.getColumnName(i)));
    }
    b.append("], \"rows\": [");
    for (boolean first = true; r.next(); first = false) {
      b.append(first ? "[" : ",[");
      for (int i = 1; i <= m.getColumnCount(); i++) {
        b.append(i > 1 ? "," : "").append(Json.quote(r.getString(i)));
      }
      b.append("]");
    }
    return b.append("]}").toString();
  }

  /** A request, read without a library: its two fields hold strings alone. */
  static final class Json {
    final String sql;
    final List<String> args = new ArrayList<>();
    private final String text;
    private int at;

    Json(String line) {
      text = line;
      at = line.indexOf("\"sql\":") + 6;
      sql = string();
      at = line.indexOf("\"args\":", at) + 7;
      while (at < text.length() && text.charAt(at) != ']' && text.charAt(at) != 'n') {
        if (text.charAt(at) == '"') {
          args.add(string());
        } else {
          at++;
        }
      }
    }

    private String string() {
      StringBuilder b = new StringBuilder();
      for (at = text.indexOf('"', at) + 1; text.charAt(at) != '"'; at++) {
        char ch = text.charAt(at);
        if (ch == '\\') {
          ch = text.charAt(++at);
          switch (ch) {
            case 'n' -> ch = '\n';
            case 't' -> ch = '\t';
            case 'r' -> ch = '\r';
            case 'u' -> {
              ch = (char) Integer.parseInt(text.substring(at + 1, at + 5), 16);
              at += 4;
            }
            default -> { }
          }
        }
        b.append(ch);
      }
      at++;
      return b.toString();
    }

    static String quote(String s) {
      if (s == null) {
        return "null";
      }
      StringBuilder b = new StringBuilder("\"");
      for (char ch : s.toCharArray()) {
        if (ch == '"' || ch == '\\') {
          b.append('\\').append(ch);
        } else if (ch < ' ') {
          b.append(String.format("\\u%04x", (int) ch));
        } else {
          b.append(ch);
        }
      }
      return b.append('"').toString();
    }
  }
}
