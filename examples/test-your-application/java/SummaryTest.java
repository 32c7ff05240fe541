import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;

/** Plain program without libraries; in JUnit, @BeforeAll starts the mock. */
final class SummaryTest {
  public static void main(String[] args) throws Exception {
    var mock =
        new ProcessBuilder("waybill", "mock", "--port", "4950", "--control-port", "4951").start();
    try {
      mock.inputReader().readLine(); // the mock prints its first line when it is ready
      var url = "http://127.0.0.1:4950/openai/v1";
      var key = "sk-mock-key-of-openai";

      var summary = Summary.summarize("A waybill lists goods.", url, key, "gpt-5.4");
      check(summary.contains("recorded answer"), summary);
      var ledger = get("http://127.0.0.1:4951/ledger");
      check(ledger.contains("\"problems\":[]"), ledger); // the provider would have accepted this request

      try {
        Summary.summarize("Anything.", url, key, "scenario-429");
        throw new AssertionError("a busy provider goes unnoticed");
      } catch (Summary.Busy expected) {
        System.out.println("2 tests passed");
      }
    } finally {
      mock.destroy();
    }
  }

  private static String get(String url) throws Exception {
    var request = HttpRequest.newBuilder(URI.create(url)).build();
    return HttpClient.newHttpClient().send(request, BodyHandlers.ofString()).body();
  }

  private static void check(boolean holds, String otherwise) {
    if (!holds) throw new AssertionError(otherwise);
  }
}
