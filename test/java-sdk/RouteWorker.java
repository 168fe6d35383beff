// A worker on the stock Java SDK, with nothing but serverUrl, keyId and keySecret; it completes every task with 200.
// Arguments: server URL, key id, key secret, task type. Prints "polling" once it polls; ends on SIGTERM.

import com.netflix.conductor.client.automator.TaskRunnerConfigurer;
import com.netflix.conductor.client.http.TaskClient;
import com.netflix.conductor.client.worker.Worker;
import com.netflix.conductor.common.metadata.tasks.Task;
import com.netflix.conductor.common.metadata.tasks.TaskResult;
import io.orkes.conductor.client.ApiClient;
import java.util.List;
import java.util.Map;

public class RouteWorker implements Worker {
  private final String taskType;

  RouteWorker(String taskType) {
    this.taskType = taskType;
  }

  public static void main(String[] args) throws InterruptedException {
    var client = new ApiClient(args[0], args[1], args[2]);
    var worker = new RouteWorker(args[3]);
    new TaskRunnerConfigurer.Builder(new TaskClient(client), List.of(worker)).withThreadCount(2).build().init();
    System.out.println("polling");
    Thread.currentThread().join();
  }

  @Override
  public String getTaskDefName() {
    return taskType;
  }

  @Override
  public int getPollingInterval() {
    return 50;
  }

  @Override
  public TaskResult execute(Task task) {
    var result = new TaskResult(task);
    result.setStatus(TaskResult.Status.COMPLETED);
    result.setOutputData(Map.of("outbound", Map.of("statusCodeValue", 200, "headers", Map.of(), "body", "served")));
    return result;
  }
}
