import { awsPartition } from '../../domain/exports/aws-partition.ts';

/** The address of Amazon's own S3 in a region. */
export function amazonS3(region: string): string {
  return `https://s3.${region}.${awsPartition(region).dnsSuffix}`;
}
