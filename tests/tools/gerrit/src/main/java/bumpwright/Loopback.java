package bumpwright;

import com.google.gerrit.pgm.Daemon;
import com.google.gerrit.pgm.Init;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Gerrit on 127.0.0.1 for as long as standard input is open, with a site in the folder that is its only argument.
 *
 * <p>Its URL and its SSH port are the only line on standard output, printed as soon as it serves; all else goes to
 * standard error. The administrator is "admin" with the password "secret", which is what Init makes for developers.
 */
public final class Loopback {
  private static final long PATIENCE_SECONDS = 300;

  public static void main(String[] arguments) throws Exception {
    PrintStream answers = System.out;
    System.setOut(System.err);
    Path site = Path.of(arguments[0]).toAbsolutePath();
    String url = "http://127.0.0.1:" + freePort() + "/";
    int sshPort = freePort();
    configure(site, url, sshPort);
    int status =
        new Init()
            .main(
                new String[] {
                  "-d", site.toString(), "--batch", "--dev", "--no-auto-start",
                  "--skip-plugins", "--skip-all-downloads",
                });
    if (status != 0) {
      throw new IllegalStateException("gerrit init ends with " + status);
    }
    Daemon daemon = start(site);
    answers.println(url + " " + sshPort);
    answers.flush();
    while (System.in.read() >= 0) {
      // The process that started this holds the other end.
    }
    daemon.stop();
    Runtime.getRuntime().halt(0);
  }

  private static int freePort() throws Exception {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
      return socket.getLocalPort();
    }
  }

  private static void configure(Path site, String url, int sshPort) throws Exception {
    String text =
        """
        [gerrit]
          basePath = git
          canonicalWebUrl = %1$s
        [auth]
          type = DEVELOPMENT_BECOME_ANY_ACCOUNT
          gitBasicAuthPolicy = HTTP
        [index]
          type = lucene
        [httpd]
          listenUrl = %1$s
          minThreads = 2
          maxThreads = 8
        [sshd]
          listenAddress = 127.0.0.1:%2$d
        [sendemail]
          enable = false
        """;
    Path folder = Files.createDirectories(site.resolve("etc"));
    Files.writeString(folder.resolve("gerrit.config"), text.formatted(url, sshPort));
  }

  private static Daemon start(Path site) throws Exception {
    CountDownLatch serving = new CountDownLatch(1);
    Daemon daemon = new Daemon(serving::countDown, site);
    Thread thread = new Thread(() -> run(daemon, site, serving));
    thread.setDaemon(true);
    thread.start();
    if (!serving.await(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
      System.err.println("gerrit does not serve after " + PATIENCE_SECONDS + " s");
      Runtime.getRuntime().halt(1);
    }
    return daemon;
  }

  private static void run(Daemon daemon, Path site, CountDownLatch serving) {
    try {
      daemon.main(
          new String[] {
            "-d", site.toString(), "--enable-httpd", "--enable-sshd", "--headless", "--console-log",
          });
    } catch (Throwable e) {
      e.printStackTrace();
    }
    if (serving.getCount() > 0) {
      Runtime.getRuntime().halt(1);
    }
  }

  private Loopback() {}
}
