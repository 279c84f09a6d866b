/** A partition of AWS: its name in ARNs, and what the names of its hosts end with. */
export type AwsPartition = { name: string; dnsSuffix: string };

const PUBLIC: AwsPartition = { name: 'aws', dnsSuffix: 'amazonaws.com' };

/** By how the names of regions begin (AWS SDKs: partitions.json). */
const OTHERS: [string, AwsPartition][] = [
  ['cn-', { name: 'aws-cn', dnsSuffix: 'amazonaws.com.cn' }],
  ['us-gov-', { name: 'aws-us-gov', dnsSuffix: 'amazonaws.com' }],
  ['us-iso-', { name: 'aws-iso', dnsSuffix: 'c2s.ic.gov' }],
  ['us-isob-', { name: 'aws-iso-b', dnsSuffix: 'sc2s.sgov.gov' }],
  ['us-isof-', { name: 'aws-iso-f', dnsSuffix: 'csp.hci.ic.gov' }],
  ['eu-isoe-', { name: 'aws-iso-e', dnsSuffix: 'cloud.adc-e.uk' }],
  ['eusc-', { name: 'aws-eusc', dnsSuffix: 'amazonaws.eu' }],
];

export function awsPartition(region: string): AwsPartition {
  return OTHERS.find(([beginning]) => region.startsWith(beginning))?.[1] ?? PUBLIC;
}
