// Rerank as it is on the wire, written by hand after Jina AI's API reference.
import { samples as embeddings } from '../embeddings/test-samples.ts'
import type { Samples } from '../test-sample-type.ts'

export const samples: Samples = {
  request: (model) =>
    `{"model": ${JSON.stringify(model)}, "query": "hi", "documents": ["ho", {"text": "hm"}], "top_n": 1, "seed": 18446744073709551616, "unknown": {"a": 1.0}}`,
  limit: null,
  noRequests: ['{}', '{"model":7,"query":"x","documents":[]}', '{"model":"m","query":"x"}'],
  answer: (model, usage) => JSON.stringify({ model, results: [{ index: 1, relevance_score: 0.9 }], usage }),
  stream: () => '',
  read: embeddings.read,
  usage: { total_tokens: 'input' },
  untold: 0,
  noAnswers: ['', '<html>', '[]', 'null', '"x"', '{}', '{"results":{}}'],
  errors: embeddings.errors,
}
