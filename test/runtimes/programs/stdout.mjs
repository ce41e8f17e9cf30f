import { smoke } from './smoke.mjs'

const [url, key] = globalThis.Deno?.args ?? process.argv.slice(2)
console.log(await smoke(url, key))
