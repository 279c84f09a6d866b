import { page } from '../page.ts';

export const segmentPages = [
  page({
    path: '/segments',
    title: 'Segments',
    question: 'Who, how many, since when?',
    needs: ['listSegments'],
    menu: { group: 'People', icon: 'people' },
    key: 'v',
    load: () => import('./segments.tsx').then(({ Segments }) => Segments),
  }),
  page({
    path: '/segments/new',
    title: 'New segment',
    question: 'Who should be in it?',
    needs: ['createSegment'],
    load: () => import('./edit-segment.tsx').then(({ NewSegment }) => NewSegment),
  }),
  page({
    path: '/segments/$id/edit',
    title: 'Change a segment',
    question: 'Who should be in it from now on?',
    needs: ['viewSegment', 'updateSegment'],
    load: () => import('./edit-segment.tsx').then(({ EditSegment }) => EditSegment),
  }),
  page({
    path: '/segments/$id',
    title: 'Segment',
    question: 'Who is in it, how many can I reach, who came and went?',
    needs: ['viewSegment'],
    idPrefix: 'seg_',
    load: () => import('./segment.tsx').then(({ SegmentPage }) => SegmentPage),
  }),
];
