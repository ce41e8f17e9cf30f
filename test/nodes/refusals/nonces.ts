import type { LocalAccount } from 'viem'
import type { Workbench } from '../tools/workbench.js'
import type { Refusal } from './refusal.js'

export const tooLow: Refusal = {
  name: 'nonce too low',
  async provoke(bench) {
    const account = await bench.account()
    for (const nonce of [0, 1]) await bench.execute(await bench.sign(account, { nonce }))
    return { signed: await bench.sign(account, { nonce: 1, value: 2n }), account }
  },
}

export const gap: Refusal = {
  name: 'gap of 5',
  async provoke(bench) {
    const account = await bench.account()
    const cure = () => takeAll(bench, account, [0, 1, 2, 3, 4])
    return { signed: await bench.sign(account, { nonce: 5 }), account, cure }
  },
}

export const gapBehindOthers: Refusal = {
  name: 'gap behind 64 others',
  async provoke(bench) {
    const account = await bench.account()
    const others = Array.from({ length: 64 }, (_, index) => index + 1)
    await takeAll(bench, account, others)
    // If the other transactions were refused too, they are sent again.
    const cure = async () => {
      await takeAll(bench, account, [0])
      for (const nonce of others) await bench.send((await bench.sign(account, { nonce })).raw)
    }
    return { signed: await bench.sign(account, { nonce: 65 }), account, cure }
  },
}

async function takeAll(bench: Workbench, account: LocalAccount, nonces: readonly number[]): Promise<void> {
  for (const nonce of nonces) await bench.take(await bench.sign(account, { nonce }))
}
