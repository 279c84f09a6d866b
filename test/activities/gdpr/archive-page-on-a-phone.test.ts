import { expect, test } from 'vitest';
import { archivePage } from '../../../domain/gdpr/archive-page.ts';
import { needChromium, renderedPage } from '../../harness/console/browser.ts';

const chromium = needChromium();
const LONG = 'x'.repeat(500);

/** On the widths given it writes how wide the page is. */
function measuring(page: string, widths: number[]): string {
  return `<!doctype html><script>
for (const width of ${JSON.stringify(widths)}) {
  const frame = document.createElement('iframe');
  frame.style = 'border:0;height:600px;width:' + width + 'px';
  frame.onload = () => { document.body.append('[' + width + ': ' + frame.contentDocument.documentElement.scrollWidth + ']'); };
  frame.srcdoc = ${JSON.stringify(page).replaceAll('</', String.raw`<\/`)};
  document.documentElement.append(frame);
}
</script><body></body>`;
}

test.skipIf(chromium === null)('no value, however long, makes the page of an archive wider than a phone', async () => {
  const page = archivePage(
    {
      request: 'gdp_1',
      person: 1,
      company: LONG,
      madeAt: '2026-11-22T10:00:00.000Z',
      ids: [{ kind: 'user_id', id: LONG }],
      fileRecipients: [{ name: LONG, types: ['events'], last_run_at: null }],
    },
    [
      {
        location: 'events',
        records: [{ happened_at: new Date(0), log_type: 2, name: LONG, detail: { [LONG]: [LONG] } }],
        total: 1,
      },
      { location: 'devices', records: [{ device_id: LONG, push_token: LONG }], total: 1 },
    ],
  );
  const rendered = await renderedPage(chromium!, measuring(page, [320, 1_000]));
  expect(rendered.match(/\[\d+: \d+\]/g)?.toSorted((a, b) => a.length - b.length)).toEqual([
    '[320: 320]',
    '[1000: 1000]',
  ]);
});
