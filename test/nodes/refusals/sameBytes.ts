import type { Refusal } from './refusal.js'

export const samePending: Refusal = {
  name: 'same bytes, pending',
  async provoke(bench) {
    const account = await bench.account()
    const signed = await bench.sign(account)
    await bench.take(signed)
    return { signed, account }
  },
}

/** Uses the second nonce, because Ganache executes the same bytes at the first one again. */
export const sameMined: Refusal = {
  name: 'same bytes, mined',
  async provoke(bench) {
    const account = await bench.account()
    await bench.execute(await bench.sign(account))
    const signed = await bench.sign(account, { nonce: 1 })
    await bench.execute(signed)
    return { signed, account }
  },
}
