import { smoke } from './smoke.mjs'

export default {
  async fetch(request) {
    const { searchParams } = new URL(request.url)
    return new Response(await smoke(searchParams.get('node'), searchParams.get('key')))
  },
}
