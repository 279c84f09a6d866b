/** Reserved, so nothing listens at it. Of a port that was open a moment ago another test may be the next owner. */
export const CLOSED_PORT = 47;
