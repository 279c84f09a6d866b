import { PERSON_PARTS } from '../../../domain/analytics/person.ts';
import { page } from '../page.ts';

export const peoplePages = [
  page({
    path: '/people',
    title: 'People',
    question: 'What do we hold of one person?',
    needs: ['findPeople'],
    anyOf: [...new Set(Object.values(PERSON_PARTS))],
    menu: { group: 'People', icon: 'person' },
    key: 'p',
    load: () => import('./people.tsx').then(({ People }) => People),
  }),
];
