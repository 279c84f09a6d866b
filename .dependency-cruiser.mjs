/**
 * Which folder may import which; types count too, since the parser sees every import as it is written.
 * That `workflows` takes only types of `activities`, and `server` only types of `workflows`, is the lint's
 * no-restricted-imports. `runtime`, `test` and `bench` may import everything.
 */
const MAY_IMPORT = {
  domain: [],
  api: ['domain'],
  store: ['domain'],
  connectors: ['domain'],
  temporal: ['domain', 'store'],
  activities: ['domain', 'store', 'connectors', 'temporal'],
  workflows: ['domain', 'activities'],
  server: ['domain', 'api', 'store', 'connectors', 'temporal', 'workflows'],
  cli: ['domain', 'api'],
  web: ['domain', 'api'],
  checks: [],
};
const FOLDERS = [...Object.keys(MAY_IMPORT), 'runtime', 'test', 'bench'];

const directions = Object.entries(MAY_IMPORT).flatMap(([from, allowed]) =>
  FOLDERS.filter((to) => to !== from && !allowed.includes(to)).map((to) =>
    forbid(`${from}-not-to-${to}`, { path: `^${from}/` }, { path: `^${to}/` }),
  ),
);

/** Layers whose folders are features; what lies beside these folders puts the layer together. */
const WITH_FEATURES = '(?:domain|api|store|activities|server|cli)';
/** Every call has rights and entries in the audit log, and most have ids of customers. */
const EVERYWHERE = '^domain/(accounts/(audit|rights)|attributes/customer-id)\\.ts$';
/** Folders that several features share: they import none. */
const SHARED = '(?:core|csv|json|time|text)';

const BUILT_IN = { dependencyTypes: ['core'] };
/** Without I/O; of luxon only what asks no clock, which its users see to. */
const PURE_PACKAGES =
  'node_modules/(csv-parse/(lib|dist/[^/]+)/sync\\.|croner/|canonicalize/|fastest-levenshtein/|(@types/)?luxon/|zod/)';
/** Ciphers, checksums and signatures, and streams of bytes: pure but for the IV that is drawn for each file. */
const CRYPTOGRAPHY = '^domain/(exports/file-encryption|core/signed-document)\\.ts$';
/** Decompression: pure, in turns with what else the process does. */
const DECOMPRESSION = '^domain/core/gunzip\\.ts$';
/** What rules of the domain may use, and browsers lack. */
const REACHED_BUILT_INS = '^(node:)?(crypto|stream|timers/promises|zlib)$';
const PACKAGE = { dependencyTypesNot: ['core', 'local'] };

export default {
  forbidden: [
    ...directions,
    forbid(
      'core-not-to-features',
      { path: `^${WITH_FEATURES}/${SHARED}/` },
      { path: `^${WITH_FEATURES}/(?!${SHARED}/|http/|migrations/)[^/]+/`, pathNot: EVERYWHERE },
    ),
    // A caller is a user, a System of Records or an app.
    forbid(
      'http-not-to-features',
      { path: '^server/http/' },
      { path: ['^server/(?!http/)[^/]+/', `^(?:domain|store)/(?!${SHARED}/|accounts/|attributes/|tracking/)[^/]+/`] },
    ),
    forbid(
      'feature-not-into-another',
      { path: '^([^/]+/[^/]+/)', pathNot: '^(?:test|bench)/' },
      { path: `^${WITH_FEATURES}/[^/]+/[^/]+/`, pathNot: '^$1' },
    ),
    forbid(
      'domain-not-to-built-ins',
      { path: '^domain/', pathNot: [CRYPTOGRAPHY, DECOMPRESSION] },
      { ...BUILT_IN, pathNot: '^(node:)?buffer$' },
    ),
    forbid(
      'domain-cryptography-not-to-other-built-ins',
      { path: CRYPTOGRAPHY },
      { ...BUILT_IN, pathNot: '^(node:)?(buffer|crypto|stream)$' },
    ),
    forbid(
      'domain-decompression-not-to-other-built-ins',
      { path: DECOMPRESSION },
      { ...BUILT_IN, pathNot: '^(node:)?(stream|timers/promises|zlib)$' },
    ),
    forbid('domain-not-to-packages', { path: '^domain/' }, { ...PACKAGE, pathNot: PURE_PACKAGES }),
    // It is read by browsers, too.
    forbid('api-not-to-built-ins', { path: '^api/' }, BUILT_IN),
    forbid('api-not-reaching-built-ins', { path: '^api/' }, { path: REACHED_BUILT_INS, reachable: true }),
    forbid('api-not-to-packages', { path: '^api/' }, { ...PACKAGE, pathNot: 'node_modules/zod/' }),
    forbid('workflows-not-to-built-ins', { path: '^workflows/' }, BUILT_IN),
    forbid(
      'workflows-not-to-packages',
      { path: '^workflows/' },
      { ...PACKAGE, pathNot: 'node_modules/@temporalio/(workflow|common)/' },
    ),
    forbid(
      'only-store-to-pg',
      { pathNot: '^(store|connectors/postgres|test|bench)/' },
      { path: 'node_modules/(@types/)?pg(-copy-streams)?/' },
    ),
    forbid(
      'only-temporal-to-client',
      { pathNot: ['^(temporal|runtime|test|bench)/', '^activities/dependencies\\.ts$'] },
      { path: 'node_modules/@temporalio/client/' },
    ),
    forbid('no-cycle', {}, { circular: true }),
    forbid('not-to-unresolvable', {}, { couldNotResolve: true }),
  ],
  options: {
    parser: 'swc',
    doNotFollow: { path: 'node_modules/' },
    // Its parser takes no JSX: the lint has the rule for pages.
    exclude: { path: '^checks/fixtures/|\\.tsx$' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
};

function forbid(name, from, to) {
  return { name, severity: 'error', from, to };
}
