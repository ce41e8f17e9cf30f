/** What runs worlds and says what they came to: for tests, bundled. */
export { createCounter } from './coverage.js'
export { unexercised } from './expected.js'
export { runPoolWorld } from './poolWorld.js'
export { createSubject } from './subject.js'
export { runWorld } from './world.js'
