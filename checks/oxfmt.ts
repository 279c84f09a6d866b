import { join, resolve } from 'node:path';
import { type Check, fixturesOf } from './check.ts';
import { runTool } from './run-tool.ts';

const RULE = 'format';
const CONFIG = '.oxfmtrc.json';
/** The same layout, without the list of ignored files, which the fixtures are in. */
const CONFIG_OF_FIXTURES = join(fixturesOf('oxfmt'), 'oxfmtrc.json');

/** The layout of code is the formatter's: `npm run format` writes it. */
export const oxfmt: Check = {
  name: 'oxfmt',

  rules: async () => [RULE],

  async run(root) {
    const config = root === fixturesOf('oxfmt') ? CONFIG_OF_FIXTURES : CONFIG;
    const files = (await runTool('oxfmt', ['--config', resolve(config), '--list-different'], root)).trim();
    const message = 'not laid out by the formatter: npm run format';
    return {
      findings: files === '' ? [] : files.split('\n').map((file) => ({ rule: RULE, file, message })),
    };
  },
};
