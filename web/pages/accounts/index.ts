import { page } from '../page.ts';

export const accountPages = [
  page({
    path: '/me',
    title: 'You',
    question: 'How do I see the console, and how do I log in?',
    needs: [],
    load: () => import('./me.tsx').then(({ Me }) => Me),
  }),
];
