import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { cacheFolder } from './cache-folder.ts';

/*
 * Loaded before a program (`node --import`): from compiled code, its modules take half the time. Node's own folder for it
 * is one that all users of the machine share, and what lies there is run.
 */
enableCompileCache(join(cacheFolder(), 'compiled'));
