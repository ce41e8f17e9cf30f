import { obeyOrders } from '../../bench/support/children.js'

// A child of a bench that finishes its first order only after the second arrives, and that fails to start if
// its arguments say so.

const second = new Promise<void>((resolve) => {
  process.on('message', ({ order }: { order: string }) => {
    if (order === 'second') resolve()
  })
})

obeyOrders({
  start: process.argv[2] === 'broken' ? Promise.reject(new Error('no start')) : Promise.resolve('ready'),
  async obey(order: string) {
    if (order === 'first') await second
    if (order === 'fail') throw new Error('cannot')
    if (order === 'end') process.exit(7)
    return `did ${order}`
  },
})
