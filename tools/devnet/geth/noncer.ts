/** geth's `noncer`: the next nonce of each account, which falls back to the nonce in the head's state. */
export type Noncer = {
  get(address: string): number
  set(address: string, nonce: number): void
  setIfLower(address: string, nonce: number): void
  clear(): void
}

export function createNoncer(stateNonce: (address: string) => number): Noncer {
  const nonces = new Map<string, number>()
  const get = (address: string) => nonces.get(address) ?? stateNonce(address)
  return {
    get,
    set: (address, nonce) => void nonces.set(address, nonce),
    setIfLower(address, nonce) {
      if (get(address) > nonce) nonces.set(address, nonce)
    },
    clear: () => nonces.clear(),
  }
}
