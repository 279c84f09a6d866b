/** The lines that point an SDK at this server, for each SDK; the manual has the same. */
import { useState } from 'react';
import type { ViewedApp } from '../../../api/client.ts';
import { CopyButton } from '../../parts/as-command.tsx';
import { Toggles } from '../../parts/toggles.tsx';

const SDKS = ['Browser', 'Node', 'Swift', 'Kotlin', 'Python', 'curl'] as const;
type Sdk = (typeof SDKS)[number];
const OF_PLATFORM = { 'Web App': 'Browser', 'iOS App': 'Swift', 'Android App': 'Kotlin' } as const;

/** Stands for a key that is not shown. */
const NO_KEY = 'KEY';

export function Snippets({ apiKey = NO_KEY, platform }: { apiKey?: string; platform: ViewedApp['platform'] }) {
  const [sdk, setSdk] = useState<Sdk>(OF_PLATFORM[platform]);
  const lines = snippetOf(sdk, apiKey, location.origin);
  return (
    <>
      <Toggles label="SDK" choices={SDKS.map((value) => ({ value, title: value }))} value={sdk} onChange={setSdk} />
      <pre className="cmd" tabIndex={0} role="group" aria-label={`Lines for ${sdk}`}>
        {lines}
      </pre>
      <div className="filters">
        <CopyButton text={lines} />
        <a className="small" href="/manual/tracking.md">
          All SDKs, in the manual
        </a>
      </div>
    </>
  );
}

function snippetOf(sdk: Sdk, key: string, origin: string): string {
  const { host, hostname } = new URL(origin);
  // Mobile SDKs always use HTTPS: an address of this machine alone does not reach them.
  const mobile = hostname === 'localhost' || hostname === '127.0.0.1' ? '<host that phones reach>/v1' : `${host}/v1`;
  switch (sdk) {
    case 'Browser':
      return [
        '<script src="https://cdn.jsdelivr.net/npm/@segment/analytics-next@1.84.3/dist/umd/index.js"></script>',
        '<script>',
        `  const analytics = AnalyticsNext.AnalyticsBrowser.load({ writeKey: '${key}', cdnURL: '${origin}' });`,
        "  analytics.track('Signed Up', { plan: 'gold' });",
        '</script>',
      ].join('\n');
    case 'Node':
      return [
        "import { Analytics } from '@segment/analytics-node';",
        `const analytics = new Analytics({ writeKey: '${key}', host: '${origin}' });`,
        "analytics.track({ userId: 'ada@example.com', event: 'Signed Up', properties: { plan: 'gold' } });",
      ].join('\n');
    case 'Swift':
      return [
        `let configuration = Configuration(writeKey: "${key}")`,
        `  .apiHost("${mobile}").cdnHost("${mobile}")`,
        'let analytics = Analytics(configuration: configuration)',
        'analytics.track(name: "Signed Up", properties: ["plan": "gold"])',
      ].join('\n');
    case 'Kotlin':
      return [
        `val analytics = Analytics("${key}", context) {`,
        `  apiHost = "${mobile}"; cdnHost = "${mobile}"`,
        '}',
        'analytics.track("Signed Up", buildJsonObject { put("plan", "gold") })',
      ].join('\n');
    case 'Python':
      return [
        'import segment.analytics as analytics',
        `analytics.write_key = '${key}'`,
        `analytics.host = '${origin}'`,
        "analytics.track('ada@example.com', 'Signed Up', { 'plan': 'gold' })",
      ].join('\n');
    case 'curl':
      return [
        `curl ${origin}/v1/track -u '${key}:' -H 'Content-Type: application/json' \\`,
        `  -d '{ "event": "Signed Up", "userId": "ada@example.com" }'`,
      ].join('\n');
  }
}
