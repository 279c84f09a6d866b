import fc from 'fast-check';
import { expect, test } from 'vitest';
import { exportPolicy, SERVER_IDENTITY, trustPolicy } from '../../../domain/exports/export-policy.ts';

/** As IAM matches a resource or a StringLike: `*` is anything, `?` one sign, `${*}` and so on the sign itself. */
function matches(pattern: string, text: string): boolean {
  const source = pattern.replaceAll(/\$\{([*?$])\}|[\s\S]/gu, (found, sign: string | undefined) => {
    if (sign !== undefined) return `\\${sign}`;
    return found === '*' ? '[\\s\\S]*' : found === '?' ? '[\\s\\S]' : found.replace(/[\\^$.|+()[\]{}/]/u, '\\$&');
  });
  return new RegExp(`^${source}$`, 'u').test(text);
}

const name = fc.string({
  minLength: 1,
  maxLength: 12,
  unit: fc.constantFrom('a', 'b', '-', '*', '?', '$', '{', '}', '.', ' ', 'ö'),
});

test('an exporter may do with files below its folder all that it does, and nothing with those beside', () => {
  fc.assert(
    fc.property(fc.array(name, { minLength: 1, maxLength: 3 }), name, name, (parts, file, other) => {
      const subfolder = parts.join('/');
      const { Statement } = exportPolicy({ bucket: 'acme', subfolder, region: 'eu-central-1' });
      const files = Statement.find(({ Action }) => Action.includes('s3:PutObject'))!;
      const [prefix] = Statement.find(({ Action }) => Action.includes('s3:ListBucket'))!.Condition!['StringLike']![
        's3:prefix'
      ]!;
      expect(matches(files.Resource, `arn:aws:s3:::acme/${subfolder}/${file}`)).toBe(true);
      expect(matches(prefix!, `${subfolder}/${file}/`)).toBe(true);
      const beside = `${subfolder}${other}`;
      expect(matches(files.Resource, `arn:aws:s3:::acme/${beside}`)).toBe(false);
      expect(matches(prefix!, beside)).toBe(false);
      expect(matches(prefix!, '')).toBe(false);
      expect(matches(files.Resource, `arn:aws:s3:::acme2/${subfolder}/${file}`)).toBe(false);
    }),
  );
});

test('without a folder it is the whole bucket, and no more', () => {
  const { Statement } = exportPolicy({ bucket: 'acme', subfolder: '', region: 'eu-central-1' });
  expect(Statement.map(({ Resource }) => Resource)).toEqual([
    'arn:aws:s3:::acme/*',
    'arn:aws:s3:::acme',
    'arn:aws:s3:::acme',
  ]);
  expect(JSON.stringify(Statement)).not.toContain('Condition');
});

test('the rights are those that an exporter uses', () => {
  const { Statement } = exportPolicy({ bucket: 'acme', subfolder: 'x', region: 'eu-central-1' });
  expect(Statement.flatMap(({ Action }) => Action).toSorted()).toEqual([
    's3:AbortMultipartUpload',
    's3:DeleteObject',
    's3:GetObject',
    's3:ListBucket',
    's3:ListBucketMultipartUploads',
    's3:PutObject',
  ]);
});

test.each([
  ['eu-central-1', 'aws'],
  ['us-gov-east-1', 'aws-us-gov'],
  ['cn-northwest-1', 'aws-cn'],
  ['us-iso-east-1', 'aws-iso'],
  ['us-isob-east-1', 'aws-iso-b'],
  ['eusc-de-east-1', 'aws-eusc'],
])('a bucket in %s is named in the partition %s', (region, partition) => {
  const { Statement } = exportPolicy({ bucket: 'acme', subfolder: 'x', region });
  for (const { Resource } of Statement) expect(Resource).toMatch(new RegExp(`^arn:${partition}:s3:::acme`));
});

test('the role trusts whoever the operator names, with the external id', () => {
  expect(trustPolicy({ externalId: 'c0ffee' }).Statement).toEqual([
    {
      Effect: 'Allow',
      Principal: { AWS: SERVER_IDENTITY },
      Action: 'sts:AssumeRole',
      Condition: { StringEquals: { 'sts:ExternalId': 'c0ffee' } },
    },
  ]);
});
