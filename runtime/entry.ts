import { type Config, ConfigError, describeConfig, readConfig } from './config.ts';
import { DataFolderInUse } from './embedded/data-folder.ts';
import { createLog } from './log.ts';
import type { Logger } from 'pino';

/** Runs a process of Millrace: what is wrong with the surroundings is said plainly, without a stack. */
export async function enter(run: (config: Config, log: Logger) => Promise<void>): Promise<void> {
  try {
    const config = readConfig(process.env);
    const log = createLog({ level: config.MILLRACE_LOG_LEVEL });
    log.info({ config: describeConfig(config) }, 'starting');
    await run(config, log);
  } catch (error) {
    if (error instanceof ConfigError || error instanceof DataFolderInUse) {
      console.error(error.message);
    } else {
      console.error(error);
    }
    process.exitCode = 1;
  }
}
