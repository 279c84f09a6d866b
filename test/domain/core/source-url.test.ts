import fc from 'fast-check';
import { expect, test } from 'vitest';
import { redactedUrl, sourceUrlError } from '../../../domain/core/source-url.ts';

test('an address is http or https, with any port, path and query', () => {
  fc.assert(
    fc.property(fc.webUrl({ withQueryParameters: true, withFragments: true }), (url) => {
      expect(sourceUrlError(url)).toBe(url.length > 2048 ? 'must have at most 2048 characters' : undefined);
    }),
  );
  for (const url of ['http://localhost:9000/a', 'HTTPS://[::1]:8443/a?b=c', 'https://bücher.example/ä b.csv']) {
    expect(sourceUrlError(url)).toBeUndefined();
  }
});

test('an address has at most 2048 characters', () => {
  const url = 'https://files.example.com/';
  expect(sourceUrlError(url.padEnd(2048, 'x'))).toBeUndefined();
  expect(sourceUrlError(url.padEnd(2049, 'x'))).toMatch('2048');
});

test.each([
  ['', /http:\/\/ or https:/],
  ['people.csv', /http:\/\/ or https:/],
  ['files.example.com:80/a', /http:\/\/ or https:/],
  ['http://', /http:\/\/ or https:/],
  ['http://256.1.1.1/', /http:\/\/ or https:/],
  ['ftp://files.example.com/a', /http:\/\/ or https:/],
  ['file:///etc/passwd', /http:\/\/ or https:/],
  ['gopher://files.example.com/', /http:\/\/ or https:/],
  ['data:text/csv,a', /http:\/\/ or https:/],
  ['https://user:zqsecret@files.example.com/a', /request_headers/],
  ['https://zqsecret@files.example.com/a', /request_headers/],
  [' https://files.example.com/a', /spaces/],
  ['https://files.example.com/a\n', /line breaks/],
  ['https://files.exa\tmple.com/a', /invisible/],
  ['https://files.\u200bexample.com/a', /invisible/],
])('%j is refused, and not quoted', (url, why) => {
  expect(sourceUrlError(url)).toMatch(why);
  expect(sourceUrlError(url)).not.toMatch(/zqsecret|passwd/);
});

test('an address is shown without what it holds of secrets', () => {
  const secret = fc.stringMatching(/^zq[a-z\d]{1,9}$/);
  fc.assert(
    fc.property(secret, (value) => {
      const shown = redactedUrl(
        `https://${value}:${value}@files.example.com:8443/day/people.csv?sig=${value}&${value}=1#${value}`,
      );
      expect(shown).toBe('https://files.example.com:8443/day/people.csv?…');
    }),
  );
  expect(redactedUrl('http://[::1]:80/a#part')).toBe('http://[::1]/a');
  expect(redactedUrl('no address')).toBe('');
});
