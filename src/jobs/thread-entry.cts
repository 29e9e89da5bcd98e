const { workerData } = require('node:worker_threads') as { workerData: { entry: string } };

/**
 * Module that Piscina requires in each thread; it exports the entry function of the module at `workerData.entry`. It
 * imports that module dynamically, because a thread that ends while Node requires an ES module aborts the process by an
 * assertion of Node.
 */
module.exports = (import(workerData.entry) as Promise<{ readonly default: unknown }>).then((module) => module.default);
