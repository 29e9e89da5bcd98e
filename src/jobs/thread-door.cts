const { workerData } = require('node:worker_threads') as { workerData: { door: string } };

/**
 * What Piscina requires in each thread: the entry function of the module whose address the thread was given. A thread
 * that ends while node requires an ES module takes the process with it (an assertion in node); one that
 * ends while it imports one does not.
 */
module.exports = (import(workerData.door) as Promise<{ readonly default: unknown }>).then((door) => door.default);
