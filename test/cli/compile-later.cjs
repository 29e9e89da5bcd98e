// Node loads this file before the command in processes of the tests. These processes end before it pays to compile
// their code for speed. The options are set here, after the first script has been read. As flags of the command line
// they would make the code cache of the build invalid, and every start would compile the program again.
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
