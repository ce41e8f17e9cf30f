import type { Refusal } from './refusal.js'

const zeros = (bytes: number) => `0x${'00'.repeat(bytes)}` as const

/** One byte above the limit of EIP-3860. */
export const initCode: Refusal = {
  name: 'init code of 49,153 bytes',
  async provoke(bench) {
    const account = await bench.account()
    const fields = { to: null, value: 0n, data: zeros(49_153), gas: 1_000_000n }
    return { signed: await bench.sign(account, fields), account, free: 0 }
  },
}

/** geth's pool accepts 128 KiB in total. */
export const data: Refusal = {
  name: 'data of 131,072 bytes',
  async provoke(bench) {
    const account = await bench.account()
    const fields = { data: zeros(131_072), gas: 2_000_000n }
    return { signed: await bench.sign(account, fields), account, free: 0 }
  },
}
