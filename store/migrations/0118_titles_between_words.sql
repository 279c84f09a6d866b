-- Titles that were cut within a word may end in a part of an id, which no erasure finds: the word goes.
update crashes set title = regexp_replace(title, '([[:space:],;|"''`<>()\[\]{}=&?])[^[:space:],;|"''`<>()\[\]{}=&?]*$', '\1')
  where length(title) = 256;
