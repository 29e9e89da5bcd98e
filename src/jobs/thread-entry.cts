const { workerData } = require('node:worker_threads') as { workerData: { entry: string } };

/**
 * Module that Piscina requires in each thread. It exports `runTask` of the module at `workerData.entry`. It imports that
 * module dynamically: if a thread ends while Node requires an ES module, an assertion of Node aborts the process.
 */
module.exports = (import(workerData.entry) as Promise<{ readonly runTask: unknown }>).then((module) => module.runTask);
