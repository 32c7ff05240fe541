import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;

/** The application: summarizes a text in one sentence. */
final class Summary {
  static final class Busy extends Exception {
    Busy() {
      super("the provider is busy; try again later");
    }
  }

  /** Returns the provider's answer as JSON. */
  static String summarize(String text, String url, String key, String model) throws Exception {
    var question =
        """
        {"model": "%s", "messages": [{"role": "user", "content": "In one sentence: %s"}]}"""
            .formatted(model, text);
    var request =
        HttpRequest.newBuilder(URI.create(url + "/chat/completions"))
            .header("authorization", "Bearer " + key)
            .header("content-type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(question))
            .build();
    var response = HttpClient.newHttpClient().send(request, BodyHandlers.ofString());
    if (response.statusCode() == 429) throw new Busy();
    return response.body();
  }
}
