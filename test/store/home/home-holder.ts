import { openHome } from '#store/home/home.js';

/** Script that opens a home and reports this. It holds the home until the process is killed. */
const home = await openHome(process.argv[2]!);
process.stdout.write(`${process.pid}\n`);
process.on('SIGTERM', () => void home.close().then(() => process.exit(0)));
setInterval(() => {}, 1000);
