type Answer = { readonly result?: unknown; readonly error?: { readonly message: string } }

/**
 * Posts one batch and returns the results in order.
 * @throws Error with the node's message if a result is missing
 */
export async function postBatch(
  url: string,
  method: string,
  asked: readonly unknown[],
): Promise<readonly string[]> {
  const calls = asked.map((one, id) => ({ jsonrpc: '2.0', id, method, params: [one] }))
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(calls) })
  const answers = (await response.json()) as Answer[]
  return answers.map(({ result, error }) => {
    if (typeof result !== 'string') throw new Error(error?.message ?? 'no result')
    return result
  })
}
