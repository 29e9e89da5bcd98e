import { lexer, type Token, type Tokens } from 'marked';
import type { ComponentChildren } from 'preact';

/** Renders Markdown as elements. HTML of the author is never inserted. */
export const Markdown = ({ text }: { readonly text: string }) => (
  <div class="pile frame raised gap-2 markdown">{lexer(text).map((token, k) => renderBlock(token, k))}</div>
);

function renderBlock(token: Token, key: number): ComponentChildren {
  switch (token.type) {
    case 'space':
      return null;
    case 'heading':
      return <h3 key={key}>{renderInline(token.tokens)}</h3>;
    case 'paragraph':
      return <p key={key}>{renderInline(token.tokens)}</p>;
    case 'text':
      return <span key={key}>{token.tokens === undefined ? token.raw : renderInline(token.tokens)}</span>;
    case 'list': {
      const { ordered, items } = token as Tokens.List;
      const rows = items.map(({ tokens }, k) => <li key={k}>{tokens.map(renderBlock)}</li>);
      return ordered ? <ol key={key}>{rows}</ol> : <ul key={key}>{rows}</ul>;
    }
    case 'blockquote':
      return <blockquote key={key}>{(token.tokens ?? []).map(renderBlock)}</blockquote>;
    default:
      return <pre key={key}>{token.type === 'code' ? token['text'] : token.raw}</pre>;
  }
}

const renderInline = (tokens: readonly Token[] = []): ComponentChildren =>
  tokens.map((token, key) => {
    switch (token.type) {
      case 'strong':
        return <strong key={key}>{renderInline(token.tokens)}</strong>;
      case 'em':
        return <em key={key}>{renderInline(token.tokens)}</em>;
      case 'codespan':
        return <code key={key}>{token['text']}</code>;
      case 'br':
        return <br key={key} />;
      case 'text':
      case 'escape':
        return token['text'];
      default:
        return 'tokens' in token ? <span key={key}>{renderInline(token.tokens)}</span> : token.raw;
    }
  });
