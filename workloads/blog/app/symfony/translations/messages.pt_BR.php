<?php

declare(strict_types=1);

return [
    'title.blog' => 'Blog',
    'title.latest' => 'Últimas postagens',
    'title.tagged' => 'Postagens sobre %tag%',
    'menu.posts' => 'Postagens',
    'menu.language' => 'Idioma',
    'post.by' => 'por %author%',
    'post.none' => 'Nenhuma postagem encontrada.',
    'page.previous' => 'Anterior',
    'page.next' => 'Próxima',
    'page.current' => '(atual)',
    'sidebar.about' => 'Esta página é o índice de um blog com páginas, etiquetas, autores e datas.',
    'footer.licence' => 'Sob a licença %licence%.',
];
