/** Check of folders: none has too many files. */
import { dirname } from 'node:path';
import type { Check, Finding } from './check.ts';
import { projectFiles } from './project-files.ts';

/** Maximum number of files in a folder that can be taken in at a glance. */
const MAX_FILES = 40;
/** The manual is served from one folder, and docs/README.md lists its pages by reader. */
const MAX_FILES_OF: Record<string, number> = { docs: 50 };

const FEATURES = [
  'core',
  'jobs',
  'accounts',
  'attributes',
  'imports',
  'feed',
  'syncs',
  'apps',
  'tracking',
  'analytics',
  'files',
  'exports',
  'gdpr',
  'sends',
  'campaigns',
];
/** Folders of features, and what each has besides. */
const LAYERS: Record<string, string[]> = {
  domain: ['csv', 'json', 'time', 'text'],
  api: ['operations.ts', 'client.ts'],
  store: ['migrations', 'schema.ts'],
  activities: ['index.ts', 'dependencies.ts'],
  server: ['http', 'app.ts', 'dependencies.ts', 'routes.ts'],
  cli: ['main.ts', 'millrace.js', 'run-command.ts', 'program.ts', 'command-line-page.ts', 'strip-types.js'],
};

/**
 * Every folder can be seen at a glance, and those of the layers are the features, under the same names in each
 * (docs/architecture.md).
 */
export const folders: Check = {
  name: 'folders',

  rules: async () => ['folder-size', 'feature'],

  async run(root) {
    const files = await projectFiles(root);
    return { findings: [...tooMany(files), ...files.flatMap(outsideFeatures)], filesLookedAt: files.length };
  },
};

/** One for each folder, at the first of its files. */
function tooMany(files: string[]): Finding[] {
  return [...Map.groupBy(files, dirname)].flatMap(([folder, inside]) => {
    const max = MAX_FILES_OF[folder] ?? MAX_FILES;
    return inside.length <= max
      ? []
      : [
          {
            rule: 'folder-size',
            file: inside[0]!,
            message: `${folder} has ${inside.length} files, more than ${max}`,
          },
        ];
  });
}

function outsideFeatures(file: string): Finding[] {
  const [layer = '', name = ''] = file.replace(/^test\//, '').split('/');
  const own = LAYERS[layer];
  if (
    own === undefined ||
    FEATURES.includes(name) ||
    own.includes(name) ||
    (file.startsWith('test/') && name.endsWith('.ts'))
  )
    return [];
  return [{ rule: 'feature', file, message: `${name} is no feature of ${layer}: see FEATURES in checks/folders.ts` }];
}
