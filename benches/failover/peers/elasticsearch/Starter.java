import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.elasticsearch.cli.Terminal;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.Node;
import org.elasticsearch.transport.Netty4Plugin;

/** Runs one node of Elasticsearch 6.8 without its distribution; every argument is a setting, as in key=value. */
final class Starter extends Node {
    private Starter(Settings settings) {
        super(InternalSettingsPreparer.prepareEnvironment(settings, Terminal.DEFAULT), List.of(Netty4Plugin.class), false);
    }

    /** There is no logging configuration that the name could stand in. */
    @Override
    protected void registerDerivedNodeNameWithLogger(String name) {
    }

    public static void main(String[] arguments) throws Exception {
        Settings.Builder builder = Settings.builder();
        for (String argument : arguments) {
            String[] setting = argument.split("=", 2);
            builder.put(setting[0], setting[1]);
        }
        Settings settings = builder.build();
        LogConfigurator.setNodeName(settings.get("node.name"));
        LogConfigurator.configureWithoutConfig(settings);
        Starter node = new Starter(settings);
        CountDownLatch closed = new CountDownLatch(1);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                node.close();
            } catch (Exception error) {
                error.printStackTrace();
            }
            closed.countDown();
        }));
        node.start();
        closed.await();
    }
}
