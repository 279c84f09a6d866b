import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type FetchAllow, readFetchAllow } from '../../../connectors/core/fetch-allow.ts';
import { isPublicAddress } from '../../../connectors/core/address-guard.ts';

function allowed(text: string): FetchAllow {
  const allow = readFetchAllow(text);
  if (typeof allow === 'string') throw new Error(allow);
  return allow;
}

describe('what the operator allows', () => {
  it.each([
    // entry, host, port, address, allowed
    ['', 'localhost', 80, '127.0.0.1', false],
    ['minio.internal', 'minio.internal', 9000, '10.0.0.5', true],
    ['MinIO.Internal', 'minio.internal.', 80, 'fd00::5', true],
    ['minio.internal', 'a.minio.internal', 80, '10.0.0.5', false],
    ['minio.internal', 'minio.internal.example.com', 80, '10.0.0.5', false],
    ['localhost:9000', 'localhost', 9000, '127.0.0.1', true],
    ['localhost:9000', 'localhost', 9001, '127.0.0.1', false],
    ['localhost', '127.0.0.1', 80, '127.0.0.1', false],
    ['bücher.example', 'xn--bcher-kva.example', 80, '10.0.0.5', true],
    ['127.0.0.1', 'any.example', 1, '127.0.0.1', true],
    ['127.0.0.1', 'any.example', 1, '127.0.0.2', false],
    ['127.0.0.1', '::ffff:127.0.0.1', 80, '::ffff:127.0.0.1', false],
    ['127.0.0.1:80', 'any.example', 80, '127.0.0.1', true],
    ['127.0.0.1:80', 'any.example', 81, '127.0.0.1', false],
    ['::1', 'any.example', 80, '0:0:0:0:0:0:0:1', true],
    ['[::1]', 'any.example', 80, '::1', true],
    ['[::1]:8080', 'any.example', 8080, '::1', true],
    ['[::1]:8080', 'any.example', 80, '::1', false],
    ['10.0.0.0/8', 'any.example', 80, '10.255.255.255', true],
    ['10.0.0.0/8', 'any.example', 80, '11.0.0.0', false],
    ['fd00::/8', 'any.example', 80, 'fdff::1', true],
    ['fd00::/8', 'any.example', 80, 'fc00::1', false],
    ['fe80::/10', 'any.example', 80, 'fe80::1%eth0', false],
    ['10.0.0.0/8', 'any.example', 80, 'fd00::1', false],
    [' a , 10.0.0.0/8,b:1 ', 'b', 1, '192.168.0.1', true],
  ])('with %j, %s:%i at %s: %s', (entry, host, port, address, isAllowed) => {
    expect(allowed(entry).allows(host, port, address)).toBe(isAllowed);
  });

  it.each([
    'http://minio.internal',
    '*.internal',
    '127.1',
    '2130706433',
    '0x7f.0.0.1',
    '10.0.0.0/33',
    'fd00::/129',
    '10.0.0.0/x',
    '10.0.0/8',
    'minio/8',
    'host:0',
    'host:65536',
    'host:',
    ':80',
    '[::1',
    '[::1]:x',
    '[127.0.0.1]',
    'fe80::1%eth0',
    'fe80::%eth0/10',
    'a@b',
    'a?b',
    'a b',
    '...',
  ])('%j is no entry, and is named', (entry) => {
    const fault = readFetchAllow(`localhost,${entry},10.0.0.0/8`);
    expect(fault).toMatch(/networks \(10\.0\.0\.0\/8\)/);
    const begins = [`has wrong entries: ${entry} is `, `has wrong entries: ${entry} has `];
    expect(fault).toSatisfy((words: string) => begins.some((begin) => words.startsWith(begin)));
  });

  it('names every entry that it cannot read', () => {
    const fault = readFetchAllow('*.a,b,,10.0.0.5/8');
    expect(fault).toMatch(/^has wrong entries: \*\.a is not understood; an entry is empty; /);
    expect(fault).toContain('; 10.0.0.5/8 is within 10.0.0.0/8: write that, or the address alone. ');
  });
});

/** An IPv4 address within an IPv6 one, in every way that leads there on some machine. */
const embeddings: [string, (hex: string, inverted: string) => string][] = [
  ['mapped', (hex) => `::ffff:${hex}`],
  ['compatible', (hex) => `::${hex}`],
  ['translated', (hex) => `::ffff:0:${hex}`],
  ['NAT64', (hex) => `64:ff9b::${hex}`],
  ['local NAT64', (hex) => `64:ff9b:1::${hex}`],
  ['6to4', (hex) => `2002:${hex}::1`],
  ['Teredo', (_, inverted) => `2001:0:1234:5678:8000:63bf:${inverted}`],
];

const words = (octets: number[]) => [0, 2].map((at) => (octets[at]! * 256 + octets[at + 1]!).toString(16)).join(':');

describe('an address', () => {
  it.each([
    '0.0.0.0',
    '0.1.2.3',
    '10.0.0.1',
    '100.64.0.1',
    '100.100.100.200',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.192',
    '192.0.2.1',
    '192.88.99.1',
    '192.168.255.255',
    '198.18.0.1',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '239.255.255.255',
    '240.0.0.1',
    '255.255.255.255',
    '168.63.129.16',
    '::',
    '::1',
    '::127.0.0.1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:8.8.8.8',
    '64:ff9b::10.0.0.1',
    '2002:7f00:1::',
    'fe80::1',
    'fe80::1%eth0',
    'febf::1',
    'fec0::1',
    'fc00::1',
    'fd00:ec2::254',
    'fdff::1',
    'ff02::1',
    '100::1',
    '2001:db8::1',
    '2001::1',
    '2001:10::1',
    '3fff::1',
    '4000::1',
    '5f00::1',
    '1::1',
    'e000::1',
    '',
    'localhost',
    '127.1',
    '8',
    '0x8.8.8.8',
    '8.8.8.8.',
    '[::1]',
    '8.8.8.8%eth0',
    '2606:4700::1111%a.b',
  ])('%j is not public', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  it.each([
    '1.1.1.1',
    '8.8.8.8',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.1',
    '169.253.255.255',
    '172.15.255.255',
    '172.32.0.0',
    '192.167.255.255',
    '192.169.0.0',
    '223.255.255.255',
    '2606:4700:4700::1111',
    '2a00:1450:4001:80b::200e',
    '2400:cb00::1',
    '3ffe:ffff::1',
  ])('%j is public', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  it('is not public when it holds an IPv4 address within, in any spelling', () => {
    const octet = fc.integer({ min: 0, max: 255 });
    fc.assert(
      fc.property(fc.tuple(octet, octet, octet, octet), fc.constantFrom(...embeddings), (octets, [, embed]) => {
        const address = embed(words(octets), words(octets.map((value) => 255 - value)));
        expect({ address, isPublic: isPublicAddress(address) }).toEqual({ address, isPublic: false });
        expect(isPublicAddress(address.toUpperCase())).toBe(false);
      }),
    );
  });
});
