/** Reads MILLRACE_FETCH_ALLOW: private addresses that users' settings may reach. */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
/** Without a port: any port. A name is in lower case without a trailing dot; an address is a network of one. */
type Entry = { port?: number } & ({ name: string } | { network: [Address, number] });

/** Addresses other than public ones that users' settings may reach. */
export type FetchAllow = {
  /**
   * Returns whether `host:port` may be reached at `address`. An entry with a name allows any address of that name; one
   * with an address or a network allows that, under any name.
   */
  allows(host: string, port: number, address: string): boolean;
};

const AUTHORITY = /^(?:\[(?<v6>[^\]]+)\]|(?<host>[^:[\]@?#%\\\s]+))(?::(?<port>[1-9]\d{0,4}))?$/;
const NAME = /^[a-z\d_-]+(?:\.[a-z\d_-]+)*$/;
const SHAPE =
  'Write hosts (minio.internal, localhost:9000), addresses (127.0.0.1, [::1]:8080) or networks (10.0.0.0/8), ' +
  'with commas between';

export const NOTHING_ALLOWED: FetchAllow = { allows: () => false };

/** Reads MILLRACE_FETCH_ALLOW; returns its fault as the end of a sentence. */
export function readFetchAllow(text: string): FetchAllow | string {
  const read = text.trim() === '' ? [] : text.split(',').map((entry) => readEntry(entry.trim()));
  const errors = read.filter((entry) => typeof entry === 'string');
  if (errors.length > 0) return `has wrong entries: ${errors.join('; ')}. ${SHAPE}`;
  const entries = read.filter((entry) => typeof entry !== 'string');
  return { allows: (host, port, address) => entries.some((entry) => covers(entry, host, port, address)) };
}

function covers(entry: Entry, host: string, port: number, address: string): boolean {
  if (entry.port !== undefined && entry.port !== port) return false;
  if ('name' in entry) return entry.name === host.toLowerCase().replace(/\.$/, '');
  if (isIP(address) === 0 || address.includes('%')) return false;
  const parsed = ipaddr.parse(address);
  const [network, bits] = entry.network;
  return parsed.kind() === network.kind() && parsed.match(network, bits);
}

function readEntry(text: string): Entry | string {
  if (text === '') return 'an entry is empty';
  if (text.includes('://')) return `${text} is an address of the web: leave out the scheme and the path`;
  if (text.includes('/')) return readNetwork(text);
  if (isIP(text) === 6) return readV6(text, undefined) ?? notUnderstood(text);
  const { v6, host = '', port: digits } = AUTHORITY.exec(text)?.groups ?? {};
  const port = digits === undefined ? undefined : Number(digits);
  if (port !== undefined && port > 65_535) return `${text} has a port over 65535`;
  return (v6 === undefined ? readHost(host, port) : readV6(v6, port)) ?? notUnderstood(text);
}

const notUnderstood = (text: string) => `${text} is not understood`;

function readNetwork(text: string): Entry | string {
  const [base = '', bits = ''] = text.split('/');
  if (isIP(base) === 0 || !/^\d{1,3}$/.test(bits) || !ipaddr.isValidCIDR(text)) return notUnderstood(text);
  const family = isIP(base) === 4 ? ipaddr.IPv4 : ipaddr.IPv6;
  const network = family.networkAddressFromCIDR(text);
  if (network.toString() === ipaddr.parse(base).toString()) return { network: [network, Number(bits)] };
  return `${text} is within ${network.toString()}/${bits}: write that, or the address alone`;
}

/** Reads an IPv6 address without a zone: a zone means another machine on every network card. */
function readV6(text: string, port: number | undefined): Entry | undefined {
  if (isIP(text) !== 6 || text.includes('%')) return undefined;
  return { network: [ipaddr.parse(text), 128], port };
}

function readHost(host: string, port: number | undefined): Entry | undefined {
  if (isIP(host) === 4) return { network: [ipaddr.parse(host), 32], port };
  const name = (URL.parse(`http://${host}/`)?.hostname ?? '').replace(/\.$/, '');
  // Another spelling of an IPv4 address, such as 127.1, is refused, because a reader would not recognize it.
  return NAME.test(name) && isIP(name) === 0 ? { name, port } : undefined;
}
