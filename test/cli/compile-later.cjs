// Loaded before the command of this package in processes of the tests: they end before compiling for speed pays. As a flag of
// the command line that would be another V8 than the one whose code cache the build has made, and every start would compile
// the program anew: it is set once the first script has been read.
const { syncBuiltinESMExports } = require('node:module');
const { setFlagsFromString } = require('node:v8');
const vm = require('node:vm');

vm.Script = class extends vm.Script {
  constructor(...given) {
    super(...given);
    if (Number.parseInt(process.versions.v8, 10) < 12) setFlagsFromString('--interrupt-budget=1000000'); // Later ones have none.
  }
};
syncBuiltinESMExports();
