import { createNaiveSubject } from './naiveSubject.js'
import type { CreateSubject } from './subjectTypes.js'

/** The sender under test: the one place where it is wired to the simulated world. */
export const createSubject: CreateSubject = createNaiveSubject
